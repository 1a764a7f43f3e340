import { resolve } from 'node:path'
import process from 'node:process'
import { readArguments } from '@csi-sidecars/command'
import { benchAgainstUpstream, SCENES } from './upstream/run.ts'

const USAGE = 'npm run bench -- [--only idle] [--rounds 1] [--scale 0.1] [--profiles DIR]'

process.exitCode = await main()

async function main(): Promise<number> {
  const { values } = readArguments(USAGE, {
    options: {
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '3' },
      scale: { type: 'string', default: '1' },
      profiles: { type: 'string' },
    },
  })
  const { only, profiles } = values
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
    printLine: (line) => process.stdout.write(`${line}\n`),
  })
}

function refuse(reason: string): number {
  process.stderr.write(`${reason}\n`)
  return 2
}
