// Prints the closing line of a test run and exits with its verdict: count-results.mjs RESULTS STATUS BROKEN
// RESULTS is vitest's JSON report, STATUS its exit code, BROKEN how many checks beside the tests failed.
import { readFileSync } from 'node:fs';

const [file, status, broken] = process.argv.slice(2);

/** A file that fails before its first test (a syntax error, a failed hook) counts as one failure. */
function count(report) {
  const emptyFailures = report.testResults.filter((f) => f.status === 'failed' && !hasFailedTest(f));
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + emptyFailures.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

function hasFailedTest(fileResult) {
  return fileResult.assertionResults.some((test) => test.status === 'failed');
}

function read() {
  try {
    return count(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    console.error(`no test results: ${error.message}`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

const counts = read();
counts.failed += Number(broken);
// A run can fail without a failed test: a leak found at its very end, an error outside any test.
if (Number(status) !== 0 && counts.failed === 0) counts.failed = 1;
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
