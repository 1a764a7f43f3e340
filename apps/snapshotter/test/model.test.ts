import { unreachable } from '@csi-sidecars/base'
import { VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import type { InFlight } from '@csi-sidecars/testkit'
import { describe, it } from '@jest/globals'
import fc from 'fast-check'
import { CONTENTS, COPY, Model, type Strip } from '../src/testing/model.ts'

type Step =
  | { kind: 'create'; name: string; policy: string; again: boolean }
  | { kind: 'remove' | 'delete' | 'label' | 'flip' | 'retainBriefly'; name: string }
  | ({ kind: 'strip'; name: string } & Strip)
  | { kind: 'copy'; name: string; policy: string }
  | { kind: 'answer' | 'apply' | 'fail'; pick: number; fault: number }
  | { kind: 'deliver'; count: number }
  | { kind: 'flow'; rounds: number }
  | { kind: 'pass'; ms: number }
  | { kind: 'kill' | 'depose' | 'start' | 'lose' | 'comeBack' | 'resync' | 'ready' | 'unready' | 'endWatch' }
  | { kind: 'loseChanges' | 'changeClass' | 'removeClass' }

/** The fault of a call that fails with the code DeadlineExceeded. */
const DEADLINE_EXCEEDED = 1

const name = fc.constantFrom(...CONTENTS)
const anyName = fc.constantFrom(...CONTENTS, COPY)
const policy = fc.constantFrom('Delete', 'Delete', 'Retain')
const flight = { pick: fc.nat(7), fault: fc.nat(99) }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      name,
      policy,
      again: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('remove' as const), name: anyName }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('strip' as const),
      name: anyName,
      retain: fc.constantFrom<Strip['retain']>('no', 'no', 'once', 'twice'),
      isUnseen: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('flip' as const), name: anyName }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('retainBriefly' as const), name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('copy' as const), name, policy }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('loseChanges' as const, 'changeClass' as const, 'removeClass' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('delete' as const, 'label' as const), name }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('answer' as const), ...flight }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('apply' as const, 'fail' as const), ...flight }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('deliver' as const), count: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('flow' as const), rounds: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(500, 2_000, 61_000) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('kill', 'depose', 'start', 'lose', 'comeBack', 'resync', 'ready', 'unready', 'endWatch'),
    }),
  },
)

/** The state of a content before the random steps. */
const BEGINNINGS = [
  ...(['none', 'none', 'none', 'call', 'uncertain', 'uncertain', 'retained briefly'] as const),
  ...(['unanswered', 'unanswered', 'stored', 'ready', 'deletion', 'failed deletion', 'failed deletion'] as const),
] as const
type Beginning = (typeof BEGINNINGS)[number]

/** The parts of a run besides its random steps. */
interface Frame {
  readonly beginnings: Readonly<Record<'a' | 'b', Beginning>>
  /** The position of a request or call that only single steps answer. Undefined if there is none. */
  readonly slow: number | undefined
}

/** Delivers every event and answers the oldest request or call, several times. */
async function flow(model: Model, rounds: number, except: readonly InFlight[]): Promise<void> {
  for (let left = rounds; left > 0; left -= 1) {
    model.process?.deliver()
    await model.clock.settle()
    model.process?.gate.inFlight.find((each) => !except.includes(each))?.answer()
    await model.clock.settle()
    model.checkAlways()
  }
}

/** Answers the oldest requests, except these, up to the first with such a label. Returns this request unanswered. */
async function reach(model: Model, label: RegExp, except: readonly InFlight[]): Promise<InFlight> {
  for (let left = 30; left > 0; left -= 1) {
    model.process?.deliver()
    await model.clock.settle()
    const flight = model.process?.gate.inFlight.find((each) => !except.includes(each))
    if (flight !== undefined && label.test(flight.label)) return flight
    flight?.answer()
  }
  throw new Error(`no such request was sent: ${label}`)
}

/** Creates the content, and brings it to this state. */
async function begin(model: Model, content: string, beginning: Beginning): Promise<void> {
  if (beginning === 'none') return
  const others = [...model.running.gate.inFlight]
  model.createContent(content, { policy: 'Delete', again: false })
  const call = await reach(model, /^call CreateSnapshot/, others)
  if (beginning === 'call') return
  if (beginning === 'unanswered') call.apply()
  if (['uncertain', 'unanswered', 'retained briefly'].includes(beginning)) {
    model.failFlight(call, DEADLINE_EXCEEDED)
    return beginning === 'retained briefly' ? await model.retainBriefly(content) : undefined
  }
  call.answer()
  const status = await reach(model, /^patch .*\/status/, others)
  if (beginning === 'stored') return status.apply()
  status.answer()
  await flow(model, 6, others)
  if (beginning === 'ready') return
  model.removeContent(content)
  const deletion = await reach(model, /^call DeleteSnapshot/, others)
  if (beginning === 'failed deletion') model.failFlight(deletion, DEADLINE_EXCEEDED)
}

async function perform(model: Model, each: Step, slow: readonly InFlight[]): Promise<void> {
  const { process } = model
  switch (each.kind) {
    case 'create':
      return model.createContent(each.name, each)
    case 'remove':
      return model.removeContent(each.name)
    case 'delete':
      return model.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name: each.name })
    case 'strip':
      return model.stripContent(each.name, each)
    case 'flip':
      return model.contentOf(each.name) && model.flipPolicy(each.name)
    case 'retainBriefly':
      return model.contentOf(each.name) && (await model.retainBriefly(each.name))
    case 'copy':
      return model.copyContent(each.name, each.policy)
    case 'loseChanges':
      return model.loseChanges()
    case 'changeClass':
      return model.changeClass()
    case 'removeClass':
      return model.removeClass()
    case 'label':
      return model.api.edit(
        VOLUME_SNAPSHOT_CONTENTS,
        { name: each.name },
        { metadata: { labels: { v: `${model.api.server.resourceVersion}` } } },
      )
    case 'answer':
      return model.flightAt(each.pick)?.answer()
    case 'apply': {
      // A read that is answered late could show an old state, so reads take effect when they are answered.
      const flight = model.flightAt(each.pick)
      return flight?.write ? flight.apply() : undefined
    }
    case 'fail': {
      const flight = model.flightAt(each.pick)
      return flight && model.failFlight(flight, each.fault)
    }
    case 'deliver':
      return process?.deliver(each.count)
    case 'flow':
      return await flow(model, each.rounds, slow)
    case 'pass':
      return model.clock.advance(each.ms)
    case 'kill':
      return model.kill()
    case 'depose':
      model.depose()
      return model.startStepwise()
    case 'start':
      return model.startStepwise()
    case 'lose':
      return process?.driver.lose()
    case 'comeBack':
      return process?.driver.comeBack()
    case 'resync':
      return process?.resync()
    case 'ready':
    case 'unready':
      model.storage.ready = each.kind === 'ready'
      return
    case 'endWatch':
      return model.api.server.dropWatches({ resource: VOLUME_SNAPSHOT_CONTENTS })
    default:
      return unreachable(each)
  }
}

async function run(steps: readonly Step[], { beginnings, slow }: Frame): Promise<void> {
  const model = await Model.begin()
  await flow(model, 4, [])
  for (const content of ['a', 'b'] as const) await begin(model, content, beginnings[content])
  await model.clock.settle()
  const flights = slow === undefined ? [] : [model.flightAt(slow) ?? []].flat()
  for (const each of steps) {
    await perform(model, each, flights)
    await model.clock.settle()
    model.checkAlways()
  }
  await model.calmDown()
  model.checkAlways()
  model.checkConverged()
}

/** The number of random runs. `MODEL_RUNS=20000 MODEL_SEED=7 npm test -- model` runs more of them. */
const numRuns = Number(process.env['MODEL_RUNS'] ?? 250)
const seed = Number(process.env['MODEL_SEED'] ?? 20_260_101)

const beginning = fc.constantFrom(...BEGINNINGS)
const frame: fc.Arbitrary<Frame> = fc.record({
  beginnings: fc.record({ a: beginning, b: beginning }),
  slow: fc.option(fc.nat(3), { nil: undefined }),
})
const steps = fc.array(step, { maxLength: 60, size: 'max' })

describe('random model', () => {
  it('two contents converge after random steps, without a lost or wrongly deleted snapshot', async () => {
    await fc.assert(fc.asyncProperty(steps, frame, run), { numRuns, seed })
  }, 600_000)
})
