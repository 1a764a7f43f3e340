// `npm start`: builds the two sidecars where that is needed and starts the embedded cluster with the given arguments.
// package.json says `exec`: after Ctrl-C the shell in between would end with 130, whatever this ends with.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const OLDEST_NODE = 26
/** A build that takes longer than this is not from the cache, and somebody may wonder. */
const QUIET_MS = 1500

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const bin = (name) => join(root, 'node_modules', '.bin', name)
const args = process.argv.slice(2)
const node = nodeCommand()

// Without a listener SIGUSR1 would open Node's debugger. A flag would do as well, but an old Node could not say so.
process.on('SIGUSR1', () => undefined)
await build()
await cluster()

/** The Node that comes with the packages, whatever the system's is. */
function nodeCommand() {
  if (existsSync(bin('node'))) return bin('node')
  if (Number.parseInt(process.versions.node, 10) >= OLDEST_NODE) return process.execPath
  fail(`Node ${OLDEST_NODE} is needed, this is ${process.version}. "npm ci" with optional packages installs one.`)
}

/** What the cluster runs from: generated code, and the sidecars that no argument replaces. */
async function build() {
  const given = (flag) => args.some((arg) => arg === flag || arg.startsWith(`${flag}=`))
  const apps = ['attacher', 'resizer'].filter((app) => !given(`--${app}`))
  const filters = apps.map((app) => `--filter=@csi-sidecars/${app}`)
  const tasks = apps.length > 0 ? ['build', ...filters] : ['generate', '--filter=@csi-sidecars/csi-proto']
  const notice = setTimeout(() => console.log('Building the sidecars, which takes a moment the first time.'), QUIET_MS)
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1' }
  const child = spawn(bin('turbo'), ['run', ...tasks], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
  const { code } = await ended(child)
  clearTimeout(notice)
  if (code === 0) return
  process.stderr.write(Buffer.concat(output))
  fail('The sidecars could not be built.')
}

/** The cluster gets the terminal's signals itself; here they only must not end the wait for it. */
async function cluster() {
  const main = join(root, 'apps', 'devcluster', 'src', 'main.ts')
  const flags = ['--disable-sigusr1', '--disable-warning=ExperimentalWarning']
  const child = spawn(node, [...flags, main, ...args], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // Ctrl-C reaches every process of the terminal; anything else only this one.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  const { code, signal } = await ended(child)
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0))
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
