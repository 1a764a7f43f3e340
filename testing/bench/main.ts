import { resolve } from 'node:path'
import process from 'node:process'
import { readArguments } from '@csi-sidecars/testkit'
import { benchAttacher } from './attacher.ts'
import { benchDevcluster } from './devcluster.ts'
import { benchEmulator } from './emulator.ts'
import { benchHttpClient } from './http-client.ts'
import { benchResizer } from './resizer.ts'
import { benchAgainstUpstream, SCENES } from './upstream/run.ts'
import { benchWorkqueue } from './workqueue.ts'

const USAGE = `npm run bench -- [attacher] [workqueue] ...
       npm run bench -- --against upstream [--only idle] [--rounds 1] [--scale 0.1] [--profiles DIR]`

const benches: Readonly<Record<string, () => void | Promise<void>>> = {
  workqueue: benchWorkqueue,
  emulator: benchEmulator,
  'http-client': benchHttpClient,
  attacher: benchAttacher,
  resizer: benchResizer,
  devcluster: () => benchDevcluster(),
}

process.exitCode = await main()

async function main(): Promise<number> {
  const { values, positionals } = readArguments(USAGE, {
    allowPositionals: true,
    options: {
      against: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '3' },
      scale: { type: 'string', default: '1' },
      profiles: { type: 'string' },
    },
  })
  const { against, only, profiles } = values
  if (against === undefined) return await benchParts(positionals)
  if (against !== 'upstream') return refuse(`--against is upstream, not ${against}`)
  const [rounds, scale] = [Number(values.rounds), Number(values.scale)]
  if (!Number.isInteger(rounds) || rounds < 1) return refuse(`--rounds is a number from 1 on, not ${values.rounds}`)
  if (!(scale > 0 && scale <= 10)) return refuse(`--scale is above 0 and at most 10, not ${values.scale}`)
  const unknown = only.filter((name) => !SCENES.some((scene) => scene.name === name))
  if (unknown.length > 0) {
    return refuse(`no scene ${unknown.join(', ')}; there are ${SCENES.map(({ name }) => name).join(', ')}`)
  }
  return await benchAgainstUpstream({
    root: resolve(import.meta.dirname, '../..'),
    only,
    rounds,
    scale,
    profiles: profiles === undefined ? undefined : resolve(profiles),
    say: (line) => process.stdout.write(`${line}\n`),
  })
}

async function benchParts(chosen: readonly string[]): Promise<number> {
  const unknown = chosen.filter((name) => !Object.hasOwn(benches, name))
  if (unknown.length > 0) {
    return refuse(`no benchmark ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}`)
  }
  const wanted = Object.entries(benches).filter(([name]) => chosen.length === 0 || chosen.includes(name))
  for (const [at, [name, bench]] of wanted.entries()) {
    process.stdout.write(`${at + 1} of ${wanted.length}: ${name}, about 2 minutes each\n`)
    await bench()
  }
  return 0
}

function refuse(reason: string): number {
  process.stderr.write(`${reason}\n`)
  return 2
}
