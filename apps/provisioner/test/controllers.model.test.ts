import { unreachable } from '@csi-sidecars/base'
import type { InFlight } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { CLAIMS, ProvisionerModel } from '../src/testing/model/provisioner-model.ts'

type Step =
  | { kind: 'createClaim' | 'createRestore' | 'deleteClaim' | 'touchClaim'; name: string }
  | { kind: 'retain' | 'unretain' | 'stripVolumes'; name: string }
  | { kind: 'answer' | 'apply' | 'fail'; pick: number; fault: number }
  | { kind: 'flow'; rounds: number }
  | { kind: 'flowAround'; pick: number; rounds: number }
  | { kind: 'restoreAround'; name: string; pick: number; rounds: number }
  | { kind: 'refuse'; isWatchFirst: boolean }
  | { kind: 'pass'; ms: number }
  | { kind: 'deliver' | 'controlVolumes' | 'createClass' | 'deleteClass' | 'late' | 'kill' | 'depose' | 'start' }
  | { kind: 'recreateInputs' | 'foreignClass' | 'deleteInputs' }

const one = <const K extends string>(name: K): { kind: fc.Arbitrary<K> } => ({ kind: fc.constant(name) })
const flight = { pick: fc.nat(5), fault: fc.nat(99) }
const name = fc.constantFrom(...CLAIMS)
const rounds = fc.integer({ min: 3, max: 12 })

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ...one('createClaim'), name }) },
  { weight: 2, arbitrary: fc.record({ ...one('createRestore'), name }) },
  { weight: 4, arbitrary: fc.record({ ...one('deleteClaim'), name }) },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constantFrom('touchClaim', 'retain', 'unretain', 'stripVolumes'), name }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('recreateInputs', 'foreignClass', 'deleteInputs') }) },
  { weight: 6, arbitrary: fc.record({ ...one('answer'), ...flight }) },
  { weight: 3, arbitrary: fc.record({ ...one('apply'), ...flight }) },
  { weight: 4, arbitrary: fc.record({ ...one('fail'), ...flight }) },
  { weight: 8, arbitrary: fc.record({ ...one('flow'), rounds: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ ...one('flowAround'), pick: fc.nat(5), rounds }) },
  { weight: 3, arbitrary: fc.record({ ...one('restoreAround'), name, pick: fc.nat(5), rounds }) },
  { weight: 1, arbitrary: fc.record({ ...one('refuse'), isWatchFirst: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ ...one('pass'), ms: fc.constantFrom(500, 2_000, 61_000) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('deliver', 'controlVolumes', 'controlVolumes') }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('createClass', 'deleteClass', 'late', 'kill', 'depose', 'start') }),
  },
)

interface FlowOptions {
  /** True if no call to the driver is answered. */
  readonly isDriverSlow?: boolean
  /** A request or call that stays unanswered. */
  readonly except?: InFlight | undefined
}

/** Delivers every event and answers the oldest request or call, several times. */
async function flow(
  model: ProvisionerModel,
  rounds: number,
  { isDriverSlow = false, except }: FlowOptions = {},
): Promise<void> {
  const isAnswered = (flight: InFlight): boolean =>
    flight !== except && !(isDriverSlow && flight.label.startsWith('call '))
  for (let left = rounds; left > 0; left -= 1) {
    model.process?.deliver()
    await model.clock.settle()
    model.process?.gate.inFlight.find(isAnswered)?.answer()
    await model.clock.settle()
    model.checkAlways()
  }
}

async function perform(model: ProvisionerModel, each: Step, isDriverSlow: boolean): Promise<void> {
  switch (each.kind) {
    case 'createClaim':
      return model.createClaim(each.name)
    case 'createRestore':
      return model.createClaim(each.name, true)
    case 'deleteClaim':
      return model.deleteClaim(each.name)
    case 'touchClaim':
      return model.touchClaim(each.name)
    case 'retain':
      return model.retain(each.name)
    case 'unretain':
      return model.unretain(each.name)
    case 'stripVolumes':
      return model.stripVolumes(each.name)
    case 'recreateInputs':
      return model.recreateInputs()
    case 'foreignClass':
      return model.recreateInputs('other.example.com')
    case 'deleteInputs':
      return model.deleteInputs()
    case 'answer':
      return model.flightAt(each.pick)?.answer()
    case 'apply':
      return model.flightAt(each.pick)?.apply()
    case 'fail': {
      const found = model.flightAt(each.pick)
      return found && model.failFlight(found, each.fault)
    }
    case 'flow':
      return await flow(model, each.rounds, { isDriverSlow })
    case 'flowAround':
      return await flow(model, each.rounds, { isDriverSlow, except: model.flightAt(each.pick) })
    case 'restoreAround': {
      const except = model.flightAt(each.pick)
      model.createClaim(each.name, true)
      return await flow(model, each.rounds, { isDriverSlow, except })
    }
    case 'refuse':
      return await model.refuseCreations(each.isWatchFirst ? 'before the answers' : 'after the answers')
    case 'pass':
      return await model.clock.advance(each.ms)
    case 'deliver':
      return model.process?.deliver()
    case 'controlVolumes':
      return model.controlVolumes()
    case 'createClass':
      return model.createClass()
    case 'deleteClass':
      return model.deleteClass()
    case 'late':
      return model.continueCreations()
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

/** The interval of the search for finalizers of forgotten restores. */
const SWEEP_MS = 300_000

/** The state of a claim before the random steps. */
const BEGINNINGS = [
  ...(['none', 'none', 'call', 'uncertain', 'stored', 'bound'] as const),
  ...(['released', 'released', 'release of the source', 'release of the source'] as const),
] as const
type Beginning = (typeof BEGINNINGS)[number]

/** The parts of a run before and after its random steps. */
interface Frame {
  readonly beginnings: Readonly<Record<(typeof CLAIMS)[number], Beginning>>
  /** Whether the class, the Secret and the VolumeAttributesClass are gone for a long time after the steps. */
  readonly inputs: 'returned' | 'gone'
  /** True if a periodic search removes finalizers of forgotten restores. */
  readonly sweeps: boolean
  /** True if only single steps answer calls to the driver. */
  readonly isDriverSlow: boolean
}

/** Answers the oldest requests up to the first request whose label `is` accepts. Returns this request unanswered. */
async function reach(model: ProvisionerModel, is: (label: string) => boolean): Promise<InFlight> {
  for (let left = 30; left > 0; left -= 1) {
    model.process?.deliver()
    await model.clock.settle()
    const flight = model.flightAt(0)
    if (flight !== undefined && is(flight.label)) return flight
    flight?.answer()
  }
  throw new Error('no such request was sent')
}

/** Creates the claim, and brings it to this state. */
async function begin(model: ProvisionerModel, claim: string, beginning: Beginning): Promise<void> {
  if (beginning === 'none') return
  model.createClaim(claim, beginning === 'release of the source')
  const call = await reach(model, (label) => label.startsWith('call create'))
  if (beginning === 'call') return
  // The first fault of a call without an answer is DeadlineExceeded, and the driver does not continue the creation.
  if (beginning === 'uncertain') return model.failFlight(call, 1)
  call.answer()
  const volume = await reach(model, (label) => label.startsWith('create persistentvolumes'))
  if (beginning === 'stored') return volume.apply()
  volume.answer()
  if (beginning === 'release of the source') {
    await reach(model, (label) => label.startsWith('get') && label.includes('/volumesnapshots/'))
    return
  }
  await flow(model, 4)
  model.controlVolumes()
  await flow(model, 4)
  if (beginning === 'bound') return
  model.deleteClaim(claim)
  model.controlVolumes()
  model.controlVolumes()
}

async function run(steps: readonly Step[], frame: Frame, finalizeClaims: boolean): Promise<void> {
  const { beginnings, inputs, sweeps, isDriverSlow } = frame
  const model = new ProvisionerModel({ finalizeClaims, sweepMs: sweeps ? SWEEP_MS : 0 })
  model.start()
  await flow(model, 4)
  for (const claim of CLAIMS) await begin(model, claim, beginnings[claim])
  for (const each of steps) {
    await perform(model, each, isDriverSlow)
    await model.clock.settle()
    model.checkAlways()
  }
  await model.calmDown(inputs)
  model.checkConverged({ leaksAllowed: model.hasCrashed && !finalizeClaims })
  model.kill()
}

/** The number of random runs. `MODEL_RUNS=20000 MODEL_SEED=7 npm test -- model` runs more of them. */
const numRuns = Number(process.env['MODEL_RUNS'] ?? 250)
const seed = Number(process.env['MODEL_SEED'] ?? 20_260_101)
const beginning = fc.constantFrom(...BEGINNINGS)
const frame: fc.Arbitrary<Frame> = fc.record({
  beginnings: fc.record({ a: beginning, b: beginning }),
  inputs: fc.constantFrom('returned', 'gone'),
  sweeps: fc.boolean(),
  isDriverSlow: fc.boolean(),
})
const steps = fc.array(step, { minLength: 5, maxLength: 50, size: 'max' })

describe('random model', () => {
  it('after random steps, the provisioner with --finalize-claims has provided each claim and leaked no volume', async () => {
    await fc.assert(
      fc.asyncProperty(steps, frame, (each, frameOfRun) => run(each, frameOfRun, true)),
      { numRuns, seed },
    )
  }, 600_000)

  it('the provisioner repeats a failed removal of its finalizer from a claim, even if no event follows', async () => {
    const model = new ProvisionerModel({ finalizeClaims: true })
    model.start()
    model.createClaim('a')
    const release = await reach(model, (label) => model.volumes.length > 0 && label.startsWith('replace'))
    model.failFlight(release, 4)
    model.process?.gate.open()
    await model.clock.advance(60_000)
    expect(model.claim('a')?.metadata?.finalizers).toEqual(['kubernetes.io/pvc-protection'])
    model.kill()
  })

  it('a deleted claim is released without another call if its creation was finally refused, even if releases have failed', async () => {
    const model = new ProvisionerModel({ finalizeClaims: true })
    model.start()
    model.createClaim('a')
    const call = await reach(model, (label) => label.startsWith('call create'))
    model.deleteClaim('a')
    // The first final code is Internal. The first fault of a request is a lost connection.
    model.failFlight(call, 0)
    const release = await reach(model, (label) => label.startsWith('replace'))
    model.failFlight(release, 0)
    await model.clock.advance(5_000)
    const secondRelease = await reach(model, (label) => label.startsWith('get'))
    model.failFlight(secondRelease, 4)
    model.deleteClass()
    model.process?.deliverAtOnce()
    model.process?.gate.open()
    await model.clock.advance(60_000)
    model.controlVolumes()
    model.checkAlways()
    expect(model.claim('a')).toBeUndefined()
    expect(model.process?.events).toEqual([
      expect.stringMatching('^Provisioning: '),
      expect.stringContaining('Internal'),
    ])
    model.kill()
  })

  it('after random steps, the provisioner has provided each claim, and leaks a volume only if a process was killed', async () => {
    await fc.assert(
      fc.asyncProperty(steps, frame, (each, frameOfRun) => run(each, frameOfRun, false)),
      { numRuns, seed },
    )
  }, 600_000)
})
