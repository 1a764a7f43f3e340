import process from 'node:process'
import { isSource } from './place.ts'

// A fresh clone has neither generated code nor sidecars.
if (isSource) await import(new URL('../../../tools/ensure-made.mjs', import.meta.url).href)
// The import comes last: linking the modules needs the generated code.
const { main, signalOfTerminal } = await import('./command-line.ts')
process.exit(await main(process.argv.slice(2), signalOfTerminal()))
