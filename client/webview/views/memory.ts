// Memory of the compiled program, from its own analysis.
import { html, nothing, type TemplateResult } from "lit-html";
import { css } from "../dom/css.ts";
import { bytes } from "../numbers.ts";
import type { Context } from "./context.ts";

export function memory({ state }: Context): TemplateResult | typeof nothing {
  const form = state.timings?.forms.find((one) => one.form === "captured") ?? state.timings?.forms[0];
  if (!form) return nothing;
  const parts = [
    ["constants", form.constantBytes, "s1"],
    ["temporaries", form.tempBytes, "s2"],
    ["arguments", form.argumentBytes, "s3"],
    ["outputs", form.outputBytes, "s4"],
  ] as const;
  const known = parts.flatMap(([name, size, fill]) => (size === null ? [] : [{ name, size, fill }]));
  if (known.length === 0) return nothing;
  const total = known.reduce((sum, { size }) => sum + size, 0);
  const label = known.map(({ name, size }) => `${name} ${bytes(size)}`).join(", ");
  return html`<h2>Memory <span class="aside">${known.length === parts.length ? `${bytes(total)} while it runs` : ""}</span></h2>
    <div class="stack" role="img" aria-label=${label}>${known.map(({ size, fill }) =>
      size > 0 ? html`<i class=${fill} ${css({ flex: `${size} 0 1px` })}></i>` : nothing,
    )}</div>
    <table class="kv"><tbody>${known.map(
      ({ name, size, fill }) => html`<tr><th scope="row"><i class="sw ${fill}"></i>${name}</th><td>${bytes(size)}</td></tr>`,
    )}</tbody></table>`;
}
