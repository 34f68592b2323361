// `npm run bench`: every measurement that has a budget, as one table. Status 1 when a budget is missed.

import { at, main, run } from './support/run.mjs';
import { pythonIn } from './support/python.mjs';
import { setup } from './setup.mjs';

await main(async () => {
  await setup();
  const { code } = await run(pythonIn(at('.venv')), [at('tests', 'bench'), ...process.argv.slice(2)], { show: true, check: false });
  return code;
});
