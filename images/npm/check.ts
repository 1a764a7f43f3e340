// Installs the npm packages of a release from their archives, as a user does, and runs them:
//   npm run check-packages [-- --node 20,22] [--files FOLDER]
// For each Node.js, both packages are installed into an empty folder. csi-devcluster runs a volume through its life cycle,
// and kubectl-csi lists the stuck objects of an emulated API server. `--files` names the files of a release.
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '@csi-sidecars/base'
import { readArguments } from '@csi-sidecars/command'
import { startApiServer } from '@csi-sidecars/emulator'
import { makePrograms, NPM_PACKAGES } from '../tools/programs.ts'

const { values } = readArguments(
  'npm run check-packages [-- --node 20,22,24,26] [--files FOLDER]',
  { options: { node: { type: 'string', default: '20,22,24,26' }, files: { type: 'string' } } },
  { node: /^\d+(,\d+)*$/ },
)

const INSTALLED_WITHIN_MS = 180_000
const RUN_WITHIN_MS = 120_000
const runFile = promisify(execFile)
const work = mkdtempSync(join(tmpdir(), 'packages-'))
const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

try {
  process.exitCode = await main()
} finally {
  rmSync(work, { recursive: true, force: true })
}

async function main(): Promise<number> {
  if (values.files === undefined) makePrograms(work)
  const archives = NPM_PACKAGES.map(({ file }) => join(resolve(values.files ?? work), file))
  const globalConfig = execFileSync('npm', ['config', 'get', 'globalconfig'], { encoding: 'utf8' }).trim()
  await using server = await startApiServer({ tls: true })
  const kubeconfig = join(work, 'kubeconfig.yaml')
  writeFileSync(kubeconfig, server.kubeconfig())
  let failed = 0
  const versions = values.node.split(',')
  for (const version of versions) {
    const problem = await problemWith(version, { archives, kubeconfig, globalConfig })
    if (problem !== undefined) failed += 1
    say(problem === undefined ? `ok   Node.js ${version}` : `FAIL Node.js ${version}: ${problem}`)
  }
  say(`${versions.length - failed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

interface Ground {
  readonly archives: readonly string[]
  readonly kubeconfig: string
  readonly globalConfig: string
}

async function problemWith(version: string, ground: Ground): Promise<string | undefined> {
  try {
    await tryWith(version, ground)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

async function tryWith(version: string, { archives, kubeconfig, globalConfig }: Ground): Promise<void> {
  const folder = join(work, `node-${version}`)
  const node = await nodeOf(version, join(folder, 'node'))
  const place = join(folder, 'empty')
  mkdirSync(place, { recursive: true })
  const env = {
    ...process.env,
    // npm searches this file next to the Node.js that runs it.
    npm_config_globalconfig: globalConfig,
    PATH: `${dirname(node)}${delimiter}${process.env['PATH']}`,
    npm_config_cache: join(work, 'cache'),
  }
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier']
  await runFile('npm', ['install', ...quiet, ...archives], { cwd: place, env, timeout: INSTALLED_WITHIN_MS })
  const program = (name: string): string => join(place, 'node_modules/.bin', name)
  const run = async (name: string, ...args: readonly string[]): Promise<string> =>
    (await runFile(program(name), args, { cwd: place, env, timeout: RUN_WITHIN_MS })).stdout

  await run('csi-devcluster', '--exit')
  const said = await run('kubectl-csi', 'stuck', `--kubeconfig=${kubeconfig}`)
  if (!said.includes('Nothing is stuck')) throw new Error(`kubectl-csi stuck prints ${said.trim()}`)
}

/** The path of the newest Node.js of that version that the registry has. This repository's own is here already. */
async function nodeOf(version: string, folder: string): Promise<string> {
  if (process.version.startsWith(`v${version}.`)) return process.execPath
  const name = `node-${process.platform}-${process.arch}`
  mkdirSync(folder, { recursive: true })
  const args = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`]
  await runFile('npm', args, { timeout: INSTALLED_WITHIN_MS })
  return join(folder, 'node_modules', name, 'bin/node')
}
