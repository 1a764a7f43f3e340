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
const CLEAR_LINE = '\r\u001b[K'

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
  const notice = buildNotice()
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1' }
  const child = spawn(bin('turbo'), ['run', ...tasks], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output.push(chunk)
      notice.heard(String(chunk))
    })
  const { code } = await ended(child)
  notice.end()
  if (code === 0) return
  process.stderr.write(Buffer.concat(output))
  fail('The sidecars could not be built.')
}

/** Says that something is built, once that takes long: on a terminal what it is and since when, elsewhere one line. */
function buildNotice() {
  const { isTTY = false, columns = 80 } = process.stdout
  const began = Date.now()
  let what = ''
  let timer = setTimeout(show, QUIET_MS)
  function show() {
    const text = 'Building the sidecars, about 20 s the first time'
    if (!isTTY) return console.log(`${text}.`)
    const line = `${text}: ${Math.round((Date.now() - began) / 1000)} s ${what}`
    process.stdout.write(`${CLEAR_LINE}${line.slice(0, columns - 1)}`)
    timer = setTimeout(show, 1000)
  }
  return {
    heard(text) {
      for (const [, name, task] of text.matchAll(/@csi-sidecars\/([\w-]+):(\w+): cache miss, executing/g)) {
        what = `(${name}: ${task})`
      }
    },
    end() {
      clearTimeout(timer)
      if (isTTY) process.stdout.write(CLEAR_LINE)
    },
  }
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
