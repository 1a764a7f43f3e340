import process from 'node:process'
import { isSource } from './place.ts'

// A fresh clone of the repository lacks the generated code and the sidecars, so they are built first.
if (isSource) await import(new URL('../../../tools/start.mjs', import.meta.url).href)
// The import is dynamic, because the imported modules need the code that was generated above.
const { main, signalOfTerminal } = await import('./command-line.ts')
process.exit(await main(process.argv.slice(2), signalOfTerminal()))
