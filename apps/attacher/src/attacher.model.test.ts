import { unreachable } from '@csi-sidecars/base'
import { CODES, type CodeName, RpcError } from '@csi-sidecars/csi'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { describe, it } from '@jest/globals'
import fc from 'fast-check'
import { apiError } from './testing/api-error.ts'
import { calmDown, checkConverged } from './testing/model/convergence.ts'
import type { InFlight } from './testing/model/gate.ts'
import { NODES, VOLUMES, vaName, World } from './testing/model/world.ts'

const RESOURCES = { va: VOLUME_ATTACHMENTS, pv: PERSISTENT_VOLUMES, node: CSI_NODES }
/** Answers of the API server, and no answer. */
const API_FAULTS = [
  [0, '', 'connection reset'],
  [409, 'Conflict', 'the object has been modified'],
  [422, 'Invalid', 'no'],
  [429, 'TooManyRequests', 'later'],
  [500, 'InternalError', 'etcd is away'],
] as const
const CODE_NAMES = Object.keys(CODES).filter((name): name is CodeName => name !== 'OK')

type Step =
  | {
      do: 'createVa' | 'deleteVa' | 'letGo' | 'reset' | 'label' | 'forget'
      volume: string
      node: string
      held: boolean
    }
  | { do: 'createPv' | 'deletePv'; volume: string }
  | { do: 'createNode' | 'deleteNode'; node: string; withDriver: boolean }
  | { do: 'answer' | 'apply' | 'fail'; pick: number; fault: number }
  | { do: 'deliver' | 'endWatch'; resource: keyof typeof RESOURCES; count: number }
  | { do: 'flow'; rounds: number }
  | { do: 'pass'; ms: number }
  | { do: 'giveBack' | 'resync' | 'lose' | 'comeBack' | 'kill' | 'depose' | 'start' }

const volume = fc.constantFrom(...VOLUMES)
const node = fc.constantFrom(...NODES)
const resource = fc.constantFrom(...(Object.keys(RESOURCES) as (keyof typeof RESOURCES)[]))
const pair = { volume, node, held: fc.boolean() }
const flight = { pick: fc.nat(7), fault: fc.nat(99) }
const one = <const K extends string>(name: K): { do: fc.Arbitrary<K> } => ({ do: fc.constant(name) })

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ ...one('createVa'), ...pair }) },
  { weight: 5, arbitrary: fc.record({ ...one('deleteVa'), ...pair }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('letGo', 'reset', 'label', 'forget'), ...pair }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('createPv', 'deletePv'), volume }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('createNode', 'deleteNode'), node, withDriver: fc.boolean() }),
  },
  { weight: 8, arbitrary: fc.record({ ...one('answer'), ...flight }) },
  { weight: 3, arbitrary: fc.record({ ...one('apply'), ...flight }) },
  { weight: 3, arbitrary: fc.record({ ...one('fail'), ...flight }) },
  { weight: 6, arbitrary: fc.record({ ...one('deliver'), resource, count: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ ...one('endWatch'), resource, count: fc.constant(0) }) },
  { weight: 6, arbitrary: fc.record({ ...one('flow'), rounds: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ ...one('pass'), ms: fc.constantFrom(500, 2_000, 61_000) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('giveBack', 'resync', 'lose', 'comeBack', 'kill', 'depose', 'start') }),
  },
)

function picked(world: World, pick: number): InFlight | undefined {
  const flights = world.process?.gate.inFlight ?? []
  return flights[pick % flights.length]
}

function faultOf({ label }: InFlight, fault: number): Error {
  if (label.startsWith('call ')) return new RpcError(CODES[CODE_NAMES[fault % CODE_NAMES.length] ?? 'Internal'], 'no')
  const [code, reason, message] = API_FAULTS[fault % API_FAULTS.length] ?? API_FAULTS[0]
  return apiError(code, reason, message)
}

/** Everything is told, and the oldest request answered, several times over. */
async function flow(world: World, rounds: number): Promise<void> {
  for (let left = rounds; left > 0; left -= 1) {
    world.process?.deliver()
    await world.clock.settle()
    picked(world, 0)?.answer()
    await world.clock.settle()
  }
}

async function perform(world: World, each: Step): Promise<void> {
  const { api, process } = world
  switch (each.do) {
    case 'createVa':
      return world.createAttachment(each.volume, each.node, each.held)
    case 'deleteVa':
      return api.delete(VOLUME_ATTACHMENTS, vaName(each.volume, each.node))
    case 'letGo':
      return world.letGo(each.volume, each.node)
    case 'reset':
      return api.edit(VOLUME_ATTACHMENTS, vaName(each.volume, each.node), { status: { attached: false } })
    case 'label':
      return api.edit(VOLUME_ATTACHMENTS, vaName(each.volume, each.node), {
        metadata: { labels: { v: `${api.version}` } },
      })
    case 'forget':
      return world.forget(each.volume, each.node)
    case 'createPv':
      return world.createVolume(each.volume)
    case 'deletePv':
      return api.delete(PERSISTENT_VOLUMES, each.volume)
    case 'createNode':
      return world.createNode(each.node, each.withDriver)
    case 'deleteNode':
      return api.delete(CSI_NODES, each.node)
    case 'answer':
      return picked(world, each.pick)?.answer()
    case 'apply':
      return picked(world, each.pick)?.apply()
    case 'fail': {
      const flight = picked(world, each.pick)
      const name = /^patch volumeattachments\/(.*)\/status$/.exec(flight?.label ?? '')?.[1]
      if (flight?.applied && name !== undefined) world.blurred.add(name)
      return flight?.answer(faultOf(flight, each.fault))
    }
    case 'deliver':
      return process?.deliver(RESOURCES[each.resource], each.count)
    case 'endWatch':
      return process?.endWatch(RESOURCES[each.resource])
    case 'flow':
      return flow(world, each.rounds)
    case 'pass':
      return world.clock.advance(each.ms)
    case 'giveBack':
      return world.giveBack()
    case 'resync':
      return process?.resync()
    case 'lose':
      return process?.driver.lose()
    case 'comeBack':
      return process?.driver.comeBack()
    case 'kill':
      return world.kill()
    case 'depose':
      return world.depose()
    case 'start':
      return world.start()
    default:
      return unreachable(each)
  }
}

async function check(steps: readonly Step[]): Promise<void> {
  const world = new World()
  for (const each of VOLUMES) world.createVolume(each)
  for (const each of NODES) world.createNode(each, true)
  world.start()
  await world.clock.settle()
  for (const each of steps) {
    await perform(world, each)
    await world.clock.settle()
    world.checkAlways()
  }
  await calmDown(world)
  world.checkAlways()
  checkConverged(world)
}

/** More: `MODEL_RUNS=20000 MODEL_SEED=7 npm test -- --testPathPatterns model`. */
const runs = Number(process.env['MODEL_RUNS'] ?? 150)
const seed = Number(process.env['MODEL_SEED'] ?? 20_260_101)

describe('whatever happens', () => {
  it('ends with everything where it belongs', async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), check), { numRuns: runs, seed })
  }, 600_000)
})
