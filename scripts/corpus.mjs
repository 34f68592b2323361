// `npm run corpus`: what jaxscope says of code that people wrote. Needs a package index; no part of `npm test`.

import { at, main, run } from './support/run.mjs';
import { pythonIn } from './support/python.mjs';
import { setup } from './setup.mjs';

await main(async () => {
  await setup();
  const { code } = await run(pythonIn(at('.venv')), [at('tests', 'corpus'), ...process.argv.slice(2)], { show: true, check: false });
  return code;
});
