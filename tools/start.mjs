// `npm start`: builds what is not up to date, of the embedded cluster and the two sidecars, and starts the cluster with
// the given arguments.
// package.json says `exec`: after Ctrl-C the shell in between would end with 130, whatever this ends with.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { ended, make, nodeCommand, ownSidecars, root } from './from-source.mjs'

const args = process.argv.slice(2)
const node = nodeCommand()

// Without a listener SIGUSR1 would open Node's debugger. A flag would do as well, but an old Node could not say so.
process.on('SIGUSR1', () => undefined)
await make(['devcluster', ...ownSidecars(args)])
await cluster()

/** The cluster gets the terminal's signals itself; here they only must not end the wait for it. */
async function cluster() {
  const main = join(root, 'apps', 'devcluster', 'dist', 'main.mjs')
  // A storm of 1,000 pods takes 50 MiB less with a young generation of 8 MiB, and as much CPU.
  const flags = JSON.parse(readFileSync(join(root, 'tools', 'cluster-flags.json'), 'utf8'))
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
