import { equal, match, ok } from 'node:assert'
import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { allCommands } from '../../../../tools/docs/commands.ts'
import { temporaryFolder } from '../../harness/process/processes.ts'
import { check } from '../../harness/test.ts'

/** Runs commands of the documents that need no cluster and that no other test runs. */

const root = resolve(import.meta.dirname, '../../../..')
const MINUTES = 3 * 60_000
/** The commands and packages change seldom, and each check starts npm, so only the long tests include them. */
const LONG_CHECK = { target: 'emulator', within: MINUTES, long: true } as const

interface Line {
  readonly path: string
  readonly line: string
  /** A pattern that the output must match. */
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
  { path: 'desk/devcluster/README.md', line: 'npm start -- --help', prints: /--page-port/ },
  { path: 'desk/devcluster/README.md', line: 'npm start -- --pause 2', prints: /All of it came true/ },
  {
    path: 'desk/devcluster/README.md',
    line: 'npm exec -- node desk/devcluster/src/main.ts',
    prints: /All of it came true/,
  },
  { path: 'testing/e2e/README.md', line: 'npm run e2e -- --list', prints: /embedded cluster/ },
  { path: 'images/README.md', line: 'npm exec -- node images/tools/main.ts programs', prints: /krew\.yaml\n/ },
  { path: 'docs/driver-test.md', line: 'npm exec -- node images/tools/main.ts npm', prints: /npm-package\n/ },
]

for (const { path, line, prints } of LINES) {
  check(`documents: the command in ${path} works: ${line}`, LONG_CHECK, async () => {
    ok(
      allCommands().some((command) => command.path === path && command.line === line),
      `${path} no longer has the line`,
    )
    // The command uses the Node.js that runs the tests, and the programs that `npm ci` has installed.
    const PATH = `${dirname(process.execPath)}:${join(root, 'node_modules/.bin')}:${process.env['PATH']}`
    const options = { cwd: root, env: { ...process.env, PATH }, timeout: MINUTES, maxBuffer: 64 * 1024 * 1024 }
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', line], options)
    match(stdout + stderr, prints)
    equal(/\bnpm (?:warn|WARN)\b/.test(stderr), false, stderr)
  })
}

const runFile = promisify(execFile)
const NPM = ['--yes', '--silent']

check(
  'npm package: npx runs the embedded cluster from the package archive in an empty folder',
  LONG_CHECK,
  async (ground) => {
    const folder = join(ground.folder, 'package')
    await runFile(process.execPath, [join(root, 'images/tools/main.ts'), 'npm', `--out=${folder}`])
    const place = temporaryFolder('npx')
    const packed = await npm(ground.folder, 'pack', folder, '--json', '--silent')
    const [archive = ''] = packed.match(/[\w.-]+\.tgz/) ?? []
    copyFileSync(join(ground.folder, archive), join(place, archive))

    const demo = await npm(place, 'exec', ...NPM, '--', `./${archive}`, '--exit')
    match(demo, /All of it came true/)
    equal(readdirSync(place).join(), archive)

    const tester = join(ground.folder, 'tester')
    await runFile(process.execPath, [join(root, 'images/tools/main.ts'), 'npm', 'csi-driver-test', `--out=${tester}`])
    match(await npm(place, 'exec', ...NPM, '--', tester, '--help'), /Usage: csi-driver-test --driver/)
  },
)

check('npm package: with an old Node.js, npm downloads a new Node.js and prints a line', LONG_CHECK, async (ground) => {
  const folder = join(ground.folder, 'package')
  await runFile(process.execPath, [join(root, 'images/tools/main.ts'), 'npm', `--out=${folder}`])
  const file = join(folder, 'package.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as object
  // The required version 1000 makes the running Node.js too old.
  const start = (nodePackages: object) => {
    writeFileSync(file, JSON.stringify({ ...manifest, oldestNode: 1000, nodePackages }))
    return runFile(process.execPath, [join(folder, 'start.cjs'), '--help'], { env: npmEnvironment() })
  }
  const needs = `csi-devcluster needs Node.js 1000 or newer, and this is ${process.version}`
  // npm gets the package from this folder instead of the registry.
  const ownNode = join(root, `node_modules/node-linux-${process.arch}`)
  const { stdout, stderr } = await start({ [`linux-${process.arch}`]: ownNode })
  match(stdout, /Usage: csi-devcluster \[options\]/)
  equal(stderr, `${needs}: npm fetches ${ownNode}\n`)
  const { code, stderr: why } = await rejection(start({}))
  equal([code, why].join(), `2,${needs}\n`)
})

async function rejection(run: Promise<unknown>): Promise<{ readonly code?: number; readonly stderr?: string }> {
  return await run.then(
    () => ({}),
    (error: object) => error,
  )
}

/** Runs npm with the Node.js of the tests first in the PATH, and with a separate cache. */
async function npm(cwd: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await runFile('npm', args, { cwd, env: npmEnvironment() })
  return stdout
}

function npmEnvironment(): NodeJS.ProcessEnv {
  const cache = join(temporaryFolder('npm-cache'), 'cache')
  mkdirSync(cache)
  const path = `${dirname(process.execPath)}:${process.env['PATH']}`
  return { ...process.env, PATH: path, npm_config_cache: cache, npm_config_offline: 'true' }
}
