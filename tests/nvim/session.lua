-- One session of a real Neovim with the server: what is seen is printed as JSON for the test to judge.
local python, folder = vim.env.JAXSCOPE_TEST_PYTHON, vim.env.JAXSCOPE_TEST_FOLDER
local patience = 120000
local seen = { messages = {} }

local function finish(problem)
  seen.problem = problem
  io.stdout:write("SEEN " .. vim.json.encode(seen) .. "\n")
  vim.cmd("qall!")
end

local function wait(what, look)
  if not vim.wait(patience, look, 50) then
    finish("waited in vain for " .. what)
    error(what)
  end
end

vim.lsp.handlers["window/showMessage"] = function(_, params)
  table.insert(seen.messages, params.message)
end

vim.o.swapfile = false
vim.cmd.edit(folder .. "/model.py")
vim.bo.filetype = "python"
local buffer = vim.api.nvim_get_current_buf()
local id = vim.lsp.start({
  name = "jaxscope",
  cmd = { python, "-m", "jaxscope.cli.main", "serve" },
  root_dir = folder,
  init_options = { trusted = true, trace = { when = "onSave" }, interpreter = python },
})
local client = vim.lsp.get_client_by_id(id)

wait("a diagnostic", function() return #vim.diagnostic.get(buffer) > 0 end)
seen.first = vim.diagnostic.get(buffer)[1].message
wait("a traced diagnostic", function()
  local found = vim.diagnostic.get(buffer)
  return #found > 0 and not found[1].message:find("(inferred)", 1, true)
end)
local item = vim.diagnostic.get(buffer)[1]
seen.traced = { message = item.message, line = item.lnum + 1, column = item.col + 1, code = item.code }

local function ask(method, params)
  local reply = client:request_sync(method, params, patience, buffer)
  return reply and reply.result
end
local document = { uri = vim.uri_from_bufnr(buffer) }
local hover = ask("textDocument/hover", { textDocument = document, position = { line = 9, character = 5 } })
seen.hover = hover and hover.contents.value
seen.lenses = {}
for _, lens in ipairs(ask("textDocument/codeLens", { textDocument = document }) or {}) do
  table.insert(seen.lenses, lens.command.title)
end

vim.api.nvim_win_set_cursor(0, { item.lnum + 1, item.col })
local before = vim.api.nvim_buf_get_changedtick(buffer)
vim.lsp.buf.code_action({
  apply = true,
  filter = function(action) return vim.startswith(action.title, "Pass `W`") end,
})
wait("the edit", function() return vim.api.nvim_buf_get_changedtick(buffer) > before end)
wait("the message", function() return #seen.messages > 0 end)
wait("the squiggle to go", function() return #vim.diagnostic.get(buffer) == 0 end)
seen.text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
finish(nil)
