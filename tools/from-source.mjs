// Functions for programs that run from the source of the repository. They find a new enough Node, generate code and
// build sidecars. They need only `npm ci`.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
export const bin = (name) => join(root, 'node_modules', '.bin', name)

export const OLDEST_NODE = 26
/** A build that takes longer than this was not in the cache. A printed line then explains the wait. */
const QUIET_MS = 1500

/** Returns the path of the Node.js that `npm ci` has installed, or of the running Node.js if it is new enough. */
export function nodeCommand() {
  if (existsSync(bin('node'))) return bin('node')
  if (isNewEnough()) return process.execPath
  fail(`Node ${OLDEST_NODE} is needed, this is ${process.version}. "npm ci" with optional packages installs one.`)
}

/** Returns the sidecars to build. An argument such as `--attacher` replaces a sidecar by another binary. */
export function ownSidecars(args) {
  const given = (flag) => args.some((arg) => arg === flag || arg.startsWith(`${flag}=`))
  const isAsked = ['--help', 'completion', '--get-yargs-completions'].some(given)
  return isAsked ? [] : ['attacher', 'resizer', 'provisioner', 'snapshotter'].filter((app) => !given(`--${app}`))
}

/** Generates code, and builds these apps if they are not up to date. */
export async function make(apps) {
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

export function ended(child) {
  return new Promise((resolve) => {
    child.once('error', (error) => fail(error.message))
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
}

export function isNewEnough() {
  return Number.parseInt(process.versions.node, 10) >= OLDEST_NODE
}

export function fail(message) {
  console.error(message)
  process.exit(1)
}
