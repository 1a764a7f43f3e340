// npm run bench [-- attacher workqueue]
import process from 'node:process'
import { benchAttacher } from './attacher.ts'
import { benchResizer } from './resizer.ts'
import { benchWorkqueue } from './workqueue.ts'

const benches: Readonly<Record<string, () => void | Promise<void>>> = {
  workqueue: benchWorkqueue,
  attacher: benchAttacher,
  resizer: benchResizer,
}
const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !Object.hasOwn(benches, name))
if (unknown.length > 0) {
  process.stderr.write(`no benchmark ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}\n`)
  process.exitCode = 2
} else {
  for (const [name, bench] of Object.entries(benches)) if (chosen.length === 0 || chosen.includes(name)) await bench()
}
