import process from 'node:process'
import { CancelledError } from '@csi-sidecars/base'

const args = process.argv.slice(2)
const stop = new AbortController()

/** The first signal ends the cluster in good order; a second one does not wait for that. */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(130)
    stop.abort(new CancelledError(signal))
  })
}

/** In the repository generated code and sidecars may be missing yet; the npm package has them in itself. */
if (import.meta.url.endsWith('.ts')) {
  const { href } = new URL('../../../tools/from-source.mjs', import.meta.url)
  const { ensureMade, ownSidecars }: FromSource = await import(href)
  await ensureMade(ownSidecars(args))
}
// Not before: what is missing is missed when the modules are linked.
const { main } = await import('./command.ts')
process.exit(await main(args, stop.signal))

interface FromSource {
  readonly ensureMade: (sidecars: readonly string[]) => Promise<void>
  readonly ownSidecars: (args: readonly string[]) => readonly string[]
}
