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

// Without a listener SIGUSR1 would open Node's debugger. A flag would do as well, but an old Node could not say so.
process.on('SIGUSR1', () => undefined)
await make([program, ...ownSidecars(args)])
await cluster()

/** The cluster gets the terminal's signals itself; here they only must not end the wait for it. */
async function cluster() {
  const main = join(root, 'apps', program, 'dist', 'main.mjs')
  // A storm of 1,000 pods takes 50 MiB less with a young generation of 8 MiB, and as much CPU.
  const flags = JSON.parse(readFileSync(join(root, 'tools', 'cluster-flags.json'), 'utf8'))
  const child = spawn(node, [...flags, main, ...args], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // Ctrl-C reaches every process of the terminal. Any other signal reaches only this process.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  const { code, signal } = await ended(child)
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0))
}
