// `npm run test:property [PROGRAMS [SEED]]`: as many random programs as one wants (10,000), half of them in each of two processes.

import { at, main, run } from './support/run.mjs';
import { pythonIn } from './support/python.mjs';
import { setup } from './setup.mjs';

await main(async () => {
  await setup();
  const [programs = '10000', seed = String(Date.now() % 1e9)] = process.argv.slice(2);
  const half = async number => {
    const env = {
      ...process.env,
      JAXSCOPE_PROPERTY_EXAMPLES: String(Math.ceil(Number(programs) / 2)),
      JAXSCOPE_PROPERTY_SEED: String(Number(seed) + number),
    };
    const test = at('tests', 'refactor', 'test_property.py');
    return run(pythonIn(at('.venv')), ['-m', 'pytest', '-n', '0', '-s', test], { show: true, check: false, env });
  };
  console.log(`${programs} programs from seed ${seed}`);
  const ended = await Promise.all([half(0), half(1)]);
  return Math.max(...ended.map(({ code }) => code));
});
