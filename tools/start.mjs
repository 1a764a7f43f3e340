// usage: node tools/start.mjs devcluster|driver-test ARGUMENTS, for `npm start` and `npm run driver-test`.
// Builds the program and its sidecars, unless they are up to date, and starts the program with the arguments.
// package.json uses `exec`, because a shell in between would exit with 130 after Ctrl-C, whatever this script returns.
//
// A program that runs from source without `npm start` imports this file first. Then it only builds generated code and
// sidecars that are missing. It needs no more than `npm ci`.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const bin = (name) => join(root, 'node_modules', '.bin', name)

const OLDEST_NODE = 26
/** A build that takes longer than this was not in the cache. A printed line then explains the wait. */
const QUIET_MS = 1500
const GENERATED = ['libs/csi-proto/src/gen/services.ts', 'libs/kube-types/src/gen/readers.ts']

const [, file = '', ...args] = process.argv
if (file !== '' && realpathSync(file) === fileURLToPath(import.meta.url)) await start(args[0], args.slice(1))
else await makeMissing(file, args)

/** Runs the program and exits with its code. Signals are forwarded and do not end this process before the program. */
async function start(program, programArgs) {
  const node = nodeCommand()
  // Without a listener SIGUSR1 would open Node's debugger.
  process.on('SIGUSR1', () => undefined)
  await make([program, ...ownSidecars(programArgs)])
  const main = join(root, 'desk', program, 'dist', 'main.mjs')
  // The flags limit V8's young generation to 8 MiB. This saves 50 MiB with 1,000 pods and costs no CPU time.
  const flags = JSON.parse(readFileSync(join(root, 'tools', 'cluster-flags.json'), 'utf8'))
  const child = spawn(node, [...flags, main, ...programArgs], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // Ctrl-C reaches every process of the terminal. Any other signal reaches only this process, which forwards it.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  const { code, signal } = await ended(child)
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0))
}

/** Builds generated code and the sidecars of a program if they are missing. Existing files are not updated. */
async function makeMissing(program, programArgs) {
  if (!isNewEnough()) fail(`Node ${OLDEST_NODE} is needed, this is ${process.version}: npm exec -- node ${program}`)
  const sidecars = /devcluster|driver-test/.test(program) ? ownSidecars(programArgs) : []
  const needed = [...GENERATED, ...sidecars.map((app) => `apps/${app}/dist/csi-${app}`)]
  if (needed.some((path) => !existsSync(join(root, path)))) await make(sidecars)
}

/** Returns the path of the Node.js that `npm ci` has installed, or of the running Node.js if it is new enough. */
function nodeCommand() {
  if (existsSync(bin('node'))) return bin('node')
  if (isNewEnough()) return process.execPath
  fail(`Node ${OLDEST_NODE} is needed, this is ${process.version}. "npm ci" with optional packages installs one.`)
}

function isNewEnough() {
  return Number.parseInt(process.versions.node, 10) >= OLDEST_NODE
}

/** Returns the sidecars to build. An argument such as `--attacher` replaces a sidecar by another binary. */
function ownSidecars(programArgs) {
  const isGiven = (flag) => programArgs.some((arg) => arg === flag || arg.startsWith(`${flag}=`))
  const isAsked = ['--help', 'completion', '--get-yargs-completions'].some(isGiven)
  return isAsked ? [] : ['attacher', 'resizer', 'provisioner', 'snapshotter'].filter((app) => !isGiven(`--${app}`))
}

/** Generates code, and builds these apps if they are not up to date. */
async function make(apps) {
  const filters = apps.map((app) => `--filter=@csi-sidecars/${app}`)
  const tasks = apps.length > 0 ? ['build', ...filters] : ['generate']
  const notice = apps.length > 0 ? 'Building, about 20 s the first time.' : 'Generating code.'
  const timer = setTimeout(() => console.error(notice), QUIET_MS)
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1' }
  const child = spawn(bin('turbo'), ['run', ...tasks], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
  const { code } = await ended(child)
  clearTimeout(timer)
  if (code === 0) return
  process.stderr.write(Buffer.concat(output))
  fail('What is needed could not be built.')
}

function ended(child) {
  return new Promise((resolve) => {
    child.once('error', (error) => fail(error.message))
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
}

function fail(message) {
  console.error(message)
  process.exit(1)
}
