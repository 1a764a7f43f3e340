// usage: node tools/start.mjs devcluster|driver-test ARGUMENTS, for `npm start` and `npm run driver-test`.
// Builds the program and its sidecars, unless they are up to date, and starts the program with the arguments.
// package.json uses `exec`, because a shell in between would exit with 130 after Ctrl-C, whatever this script returns.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { ended, make, nodeCommand, ownSidecars, root } from './from-source.mjs'

const [, , program, ...args] = process.argv
const node = nodeCommand()

// Without a listener SIGUSR1 would open Node's debugger.
process.on('SIGUSR1', () => undefined)
await make([program, ...ownSidecars(args)])
await cluster()

/** Runs the program and exits with its code. Signals are forwarded and do not end this process before the program. */
async function cluster() {
  const main = join(root, 'desk', program, 'dist', 'main.mjs')
  // The flags limit V8's young generation to 8 MiB. This saves 50 MiB with 1,000 pods and costs no CPU time.
  const flags = JSON.parse(readFileSync(join(root, 'tools', 'cluster-flags.json'), 'utf8'))
  const child = spawn(node, [...flags, main, ...args], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // Ctrl-C reaches every process of the terminal. Any other signal reaches only this process, which forwards it.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  const { code, signal } = await ended(child)
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0))
}
