import process from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { isSource } from './place.ts'

/**
 * A storm of 1,000 pods takes 340 MiB instead of 520 with these flags, and a tenth more CPU. The heap is collected
 * after a growth of 40 %, and memory of compilations is freed at once.
 */
for (const flag of ['--heap-growing-percent=40', '--no-maglev-destroy-on-background']) setFlagsFromString(flag)

// A fresh clone has neither generated code nor sidecars.
if (isSource) await import(new URL('../../../tools/ensure-made.mjs', import.meta.url).href)
// The import comes last: linking the modules needs the generated code.
const { main, signalOfTerminal } = await import('./command.ts')
process.exit(await main(process.argv.slice(2), signalOfTerminal()))
