import { describe, expect, it } from '@jest/globals'
import { CONTENTS, Model } from '../src/testing/model.ts'

/** The disturbances that can replace the next answer of the API server or the driver. */
const DISTURBANCES: Readonly<Record<string, (model: Model) => void | Promise<void>>> = {
  'the process dies before the request takes effect': async (model) => {
    model.kill()
    await model.startStepwise()
  },
  'the process dies after the request took effect': async (model) => {
    model.flightAt(0)?.apply()
    await model.clock.settle()
    model.kill()
    await model.startStepwise()
  },
  'the answer is lost': async (model) => {
    const flight = model.flightAt(0)
    flight?.apply()
    await model.clock.settle()
    if (flight !== undefined && model.flightAt(0) === flight) model.failFlight(flight, 1)
  },
  'the user deletes the snapshot': (model) => model.removeContent('a'),
  'the user removes the finalizers': (model) => model.stripContent('a'),
  'the user removes the finalizers and creates it again': (model) => {
    model.stripContent('a')
    model.createContent('a', { policy: 'Delete', again: true })
  },
  'the request is refused': (model) => refuse(model, 3),
  'the call fails for sure': (model) => refuse(model, 7),
  'the driver is lost and returns': async (model) => {
    model.running.driver.lose()
    await model.clock.settle()
    model.running.driver.comeBack()
  },
  'the lease goes to another process': async (model) => {
    model.depose()
    await model.startStepwise()
  },
  'the snapshot is not ready yet': (model) => {
    model.storage.ready = false
  },
}

/** Tests with two disturbances combine one of the first two entries with any of the four. */
const COMBINED = [
  'the process dies after the request took effect',
  'the answer is lost',
  'the user deletes the snapshot',
  'the user removes the finalizers',
]

function refuse(model: Model, fault: number): void {
  const flight = model.flightAt(0)
  if (flight !== undefined) model.failFlight(flight, fault)
}

/** The maximum number of steps of one test. */
const MAX_STEPS = 40
/** The step in which the test deletes the VolumeSnapshotContent. */
const REMOVED_AT = 14

interface Disturbance {
  readonly at: number
  readonly name: string
}

/** Creates and deletes a VolumeSnapshotContent under these disturbances. If `lags`, watch events arrive at the end. */
async function live(disturbances: readonly Disturbance[], { lags = false } = {}): Promise<number> {
  const model = await Model.begin()
  model.createContent('a', { policy: 'Delete', again: false })
  let answers = 0
  for (let step = 0; step < MAX_STEPS; step += 1) {
    if (!lags || step < 3) model.running.deliver()
    await model.clock.settle()
    model.checkAlways()
    const disturbance = disturbances.find(({ at }) => at === step)
    if (disturbance !== undefined) await DISTURBANCES[disturbance.name]?.(model)
    else if (step === REMOVED_AT) model.removeContent('a')
    else if (model.flightAt(0) !== undefined) {
      answers += 1
      model.flightAt(0)?.answer()
    } else if (step > REMOVED_AT) break
    await model.clock.settle()
    model.checkAlways()
  }
  await model.calmDown()
  model.checkAlways()
  model.checkConverged()
  return answers
}

const STEPS = Array.from({ length: REMOVED_AT + 8 }, (_, index) => index)
const ALL = Object.keys(DISTURBANCES)

describe('one content', () => {
  it('a snapshot is created and deleted if nothing disturbs the snapshotter', async () => {
    expect(CONTENTS).toContain('a')
    // The seven requests: annotation, CreateSnapshot, status, annotation, DeleteSnapshot, status, finalizer.
    expect(await live([])).toBeGreaterThanOrEqual(7)
  })

  it.each(ALL)(
    'a content converges after one fault at any step: %s',
    async (name) => {
      for (const at of STEPS) {
        await live([{ at, name }]).catch((cause: unknown) => {
          throw new Error(`${name} at step ${at}`, { cause })
        })
        await live([{ at, name }], { lags: true }).catch((cause: unknown) => {
          throw new Error(`${name} at step ${at}, with late events`, { cause })
        })
      }
    },
    120_000,
  )

  it.each(COMBINED.slice(0, 2).flatMap((first) => COMBINED.map((second) => [first, second] as const)))(
    'a content converges after two faults at any two steps: %s, then %s',
    async (first, second) => {
      for (const at of STEPS) {
        for (const gap of [1, 3]) {
          const both = [
            { at, name: first },
            { at: at + gap, name: second },
          ]
          await live(both).catch((cause: unknown) => {
            throw new Error(`${first} at step ${at}, ${second} at step ${at + gap}`, { cause })
          })
        }
      }
    },
    120_000,
  )
})
