import { equal, match, ok } from 'node:assert'
import { execFile } from 'node:child_process'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { allCommands } from '../../../../tools/docs/commands.ts'
import { check } from '../../harness/test.ts'

/** Lines of the documents that need no cluster and that no other test runs, as their readers copy them. */

const root = resolve(import.meta.dirname, '../../../..')
const MINUTES = 3 * 60_000

interface Line {
  readonly path: string
  readonly line: string
  /** A pattern that the output must contain. */
  readonly prints: RegExp
}

const LINES: readonly Line[] = [
  { path: 'CONTRIBUTING.md', line: 'cd libs/workqueue && npm test -- lanes', prints: /Tests: +\d+ passed/ },
  { path: 'CONTRIBUTING.md', line: 'npx jest libs/workqueue/src/delays.test.ts', prints: /Tests: +\d+ passed/ },
  {
    path: 'CONTRIBUTING.md',
    line: 'npm run generate && npm exec -- node apps/attacher/src/main.ts --help',
    prints: / -csi-address /,
  },
  { path: 'apps/devcluster/README.md', line: 'npm start -- --help', prints: /--page-port/ },
  { path: 'apps/devcluster/README.md', line: 'npm start -- --pause 2', prints: /All of it came true/ },
  {
    path: 'apps/devcluster/README.md',
    line: 'npm exec -- node apps/devcluster/src/main.ts',
    prints: /All of it came true/,
  },
  { path: 'testing/e2e/README.md', line: 'npm run e2e -- --list', prints: /embedded cluster/ },
  { path: 'images/README.md', line: 'npm exec -- node images/tools/main.ts programs', prints: /krew\.yaml\n/ },
  { path: 'docs/drivers.md', line: 'npm exec -- node images/tools/main.ts npm', prints: /npm-package\n/ },
]

for (const { path, line, prints } of LINES) {
  check(`documents: ${path}: ${line}`, { target: 'emulator', within: MINUTES }, async () => {
    ok(
      allCommands().some((command) => command.path === path && command.line === line),
      `${path} no longer has the line`,
    )
    // The command runs with the Node.js of the tests, as after `npm ci`.
    const PATH = `${dirname(process.execPath)}:${join(root, 'node_modules/.bin')}:${process.env['PATH']}`
    const options = { cwd: root, env: { ...process.env, PATH }, timeout: MINUTES, maxBuffer: 64 * 1024 * 1024 }
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', line], options)
    match(stdout + stderr, prints)
    equal(/\bnpm (?:warn|WARN)\b/.test(stderr), false, stderr)
  })
}
