// Adds up what the test runners report.

import fs from 'node:fs';

const number = (text, name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(text)?.[1] ?? 0);

/** Counts of a pytest report in JUnit form. A run that left no report, or ended badly without a failure, has failed. */
export function counted(report, code) {
  if (!fs.existsSync(report)) return { passed: 0, failed: 1, skipped: 0 };
  const head = /<testsuite [^>]*>/.exec(fs.readFileSync(report, 'utf8'))?.[0] ?? '';
  const skipped = number(head, 'skipped');
  const failed = Math.max(number(head, 'failures') + number(head, 'errors'), code === 0 ? 0 : 1);
  return { passed: Math.max(0, number(head, 'tests') - skipped - number(head, 'failures') - number(head, 'errors')), failed, skipped };
}

/** Counts of node's test runner, from the closing lines of its output. */
export function countedByNode(output, code) {
  const last = (name) => Number([...output.matchAll(new RegExp(`^(?:#|ℹ) ${name} (\\d+)`, 'gm'))].pop()?.[1] ?? 0);
  return { passed: last('pass'), failed: Math.max(last('fail') + last('cancelled'), code === 0 ? 0 : 1), skipped: last('skipped') + last('todo') };
}

/** Prints a table of the results and the closing line; returns the exit status. */
export function summary(results) {
  const total = (field) => results.reduce((sum, result) => sum + result[field], 0);
  console.log('\nSummary');
  const width = Math.max(...results.map(({ name }) => name.length));
  for (const result of results) {
    const counts = result.notRun ? `NOT RUN: ${result.notRun}` : `${result.passed} passed, ${result.failed} failed, ${result.skipped} skipped`;
    console.log(`  ${result.failed ? 'x' : result.notRun ? '-' : ' '} ${result.name.padEnd(width)}  ${counts}${result.seconds === undefined ? '' : `  (${result.seconds.toFixed(0)} s)`}`);
  }
  console.log(`\n${total('passed')} passed, ${total('failed')} failed, ${total('skipped')} skipped`);
  return total('failed') > 0 ? 1 : 0;
}
