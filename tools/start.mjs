// `npm start`: builds the two sidecars where that is needed and starts the embedded cluster with the given arguments.
// package.json says `exec`: after Ctrl-C the shell in between would end with 130, whatever this ends with.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { join } from 'node:path'
import { ended, make, nodeCommand, ownSidecars, root } from './from-source.mjs'

const args = process.argv.slice(2)
const node = nodeCommand()

// Without a listener SIGUSR1 would open Node's debugger. A flag would do as well, but an old Node could not say so.
process.on('SIGUSR1', () => undefined)
await make(ownSidecars(args))
await cluster()

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
