import { unreachable } from '@csi-sidecars/base'
import { CODES, type CodeName, RpcError } from '@csi-sidecars/csi'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { InFlight } from '@csi-sidecars/testkit'
import { describe, it } from '@jest/globals'
import fc from 'fast-check'
import { apiError } from '../src/testing/api-error.ts'
import { AttacherModel, NODES, VOLUMES, vaName } from '../src/testing/model/attacher-model.ts'
import { calmDown, checkConverged } from '../src/testing/model/convergence.ts'

const RESOURCES = { va: VOLUME_ATTACHMENTS, pv: PERSISTENT_VOLUMES, node: CSI_NODES }
/** The status codes, reasons and messages with which the API server fails requests. 0: no answer. */
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
      kind: 'createVa' | 'deleteVa' | 'removeForeignFinalizer' | 'reset' | 'label' | 'forget' | 'strip'
      volume: string
      node: string
      hasForeignFinalizer: boolean
    }
  | { kind: 'createPv' | 'deletePv' | 'remakePv'; volume: string }
  | { kind: 'createNode' | 'deleteNode' | 'remakeNode'; node: string; withDriver: boolean }
  | { kind: 'answer' | 'apply' | 'fail'; pick: number; fault: number }
  | { kind: 'deliver' | 'endWatch'; resource: keyof typeof RESOURCES; count: number }
  | { kind: 'flow'; rounds: number }
  | { kind: 'pass'; ms: number }
  | { kind: 'giveBack' | 'resync' | 'lose' | 'comeBack' | 'replaceDriver' | 'kill' | 'depose' | 'start' }

const volume = fc.constantFrom(...VOLUMES)
const node = fc.constantFrom(...NODES)
const resource = fc.constantFrom(...(Object.keys(RESOURCES) as (keyof typeof RESOURCES)[]))
const pair = { volume, node, hasForeignFinalizer: fc.boolean() }
const flight = { pick: fc.nat(7), fault: fc.nat(99) }
const one = <const K extends string>(name: K): { kind: fc.Arbitrary<K> } => ({ kind: fc.constant(name) })

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ ...one('createVa'), ...pair }) },
  { weight: 5, arbitrary: fc.record({ ...one('deleteVa'), ...pair }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('removeForeignFinalizer', 'reset', 'label', 'forget'), ...pair }),
  },
  { weight: 3, arbitrary: fc.record({ ...one('strip'), ...pair }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('createPv', 'deletePv', 'remakePv'), volume }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('createNode', 'deleteNode', 'remakeNode'),
      node,
      withDriver: fc.boolean(),
    }),
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
    arbitrary: fc.record({
      kind: fc.constantFrom('giveBack', 'resync', 'lose', 'comeBack', 'replaceDriver', 'kill', 'depose', 'start'),
    }),
  },
)

function picked(model: AttacherModel, pick: number): InFlight | undefined {
  const flights = model.process?.gate.inFlight ?? []
  return flights[pick % flights.length]
}

function faultOf({ label }: InFlight, fault: number): Error {
  if (label.startsWith('call ')) return new RpcError(CODES[CODE_NAMES[fault % CODE_NAMES.length] ?? 'Internal'], 'no')
  const [code, reason, message] = API_FAULTS[fault % API_FAULTS.length] ?? API_FAULTS[0]
  return apiError(code, reason, message)
}

/** Delivers all events and answers the oldest request, several times. */
async function flow(model: AttacherModel, rounds: number): Promise<void> {
  for (let left = rounds; left > 0; left -= 1) {
    model.process?.deliver()
    await model.clock.settle()
    picked(model, 0)?.answer()
    await model.clock.settle()
  }
}

async function perform(model: AttacherModel, each: Step): Promise<void> {
  const { api, process } = model
  switch (each.kind) {
    case 'createVa':
      return model.createAttachment(each.volume, each.node, each.hasForeignFinalizer)
    case 'deleteVa':
      return api.delete(VOLUME_ATTACHMENTS, { name: vaName(each.volume, each.node) })
    case 'removeForeignFinalizer':
      return model.removeForeignFinalizer(each.volume, each.node)
    case 'strip':
      return model.strip(each.volume, each.node, each.hasForeignFinalizer)
    case 'remakePv':
      return model.remakeVolume(each.volume)
    case 'remakeNode':
      return model.remakeNode(each.node)
    case 'replaceDriver':
      process?.driver.lose()
      return process?.driver.comeBack()
    case 'reset':
      return api.edit(VOLUME_ATTACHMENTS, { name: vaName(each.volume, each.node) }, { status: { attached: false } })
    case 'label':
      return api.edit(
        VOLUME_ATTACHMENTS,
        { name: vaName(each.volume, each.node) },
        {
          metadata: { labels: { v: `${api.server.resourceVersion}` } },
        },
      )
    case 'forget':
      return model.forget(each.volume, each.node)
    case 'createPv':
      return model.createVolume(each.volume)
    case 'deletePv':
      return api.delete(PERSISTENT_VOLUMES, { name: each.volume })
    case 'createNode':
      return model.createNode(each.node, each.withDriver)
    case 'deleteNode':
      return api.delete(CSI_NODES, { name: each.node })
    case 'answer':
      return picked(model, each.pick)?.answer()
    case 'apply':
      return picked(model, each.pick)?.apply()
    case 'fail': {
      const flight = picked(model, each.pick)
      const name = /^patch volumeattachments\/(.*)\/status$/.exec(flight?.label ?? '')?.[1]
      if (flight?.applied && name !== undefined) model.blurred.add(name)
      if (flight === undefined) return
      const fault = faultOf(flight, each.fault)
      if (fault instanceof RpcError && fault.code === CODES.NotFound) model.notFound(flight.label)
      return flight.answer(fault)
    }
    case 'deliver':
      return process?.deliver(RESOURCES[each.resource], each.count)
    case 'endWatch':
      return process?.endWatch(RESOURCES[each.resource])
    case 'flow':
      return flow(model, each.rounds)
    case 'pass':
      return model.clock.advance(each.ms)
    case 'giveBack':
      return model.giveBack()
    case 'resync':
      return process?.resync()
    case 'lose':
      return process?.driver.lose()
    case 'comeBack':
      return process?.driver.comeBack()
    case 'kill':
      return model.kill()
    case 'depose':
      return model.depose()
    case 'start':
      return model.start()
    default:
      return unreachable(each)
  }
}

async function check(steps: readonly Step[]): Promise<void> {
  const model = new AttacherModel()
  for (const each of VOLUMES) model.createVolume(each)
  for (const each of NODES) model.createNode(each, true)
  model.start()
  await model.clock.settle()
  for (const each of steps) {
    await perform(model, each)
    await model.clock.settle()
    model.checkAlways()
  }
  await calmDown(model)
  model.checkAlways()
  checkConverged(model)
}

/** Run more sequences with `MODEL_RUNS=20000 MODEL_SEED=7 npm test -- --testPathPatterns model`. */
const runs = Number(process.env['MODEL_RUNS'] ?? 150)
const seed = Number(process.env['MODEL_SEED'] ?? 20_260_101)

describe('random model', () => {
  it('the attacher converges after random events and faults: the API objects agree with the storage', async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), check), { numRuns: runs, seed })
  }, 600_000)
})
