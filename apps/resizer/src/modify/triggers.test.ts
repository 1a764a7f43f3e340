import { FakeClock } from '@csi-sidecars/base/testing'
import { recordingQueue, ScriptedInformer } from '@csi-sidecars/controller/testing'
import type { InformerEvent } from '@csi-sidecars/informer'
import { describe, expect, it } from '@jest/globals'
import { projectClaim, type ResizerClaim } from '../caches/claim.ts'
import type { AttributesClass } from '../caches/open.ts'
import { type ClaimFields, claim, DRIVER } from '../testing/builders.ts'
import { ModifyMemory } from './memory.ts'
import { classChanged, onClaim, recallEarlierCalls, retryRecreatedClasses, wasTried } from './triggers.ts'

const cachedClaim = (fields: ClaimFields = {}): ResizerClaim => projectClaim(claim(fields))
const updated = (
  before: ClaimFields,
  after: ClaimFields,
  origin: 'change' | 'resync' = 'change',
): InformerEvent<ResizerClaim> => ({
  type: 'updated',
  before: cachedClaim(before),
  after: cachedClaim(after),
  origin,
})
const inProgress = { modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' } }
const gold = { currentVolumeAttributesClassName: 'gold' }

describe('onClaim', () => {
  it.each<[name: string, event: InformerEvent<ResizerClaim>]>([
    ['when the claim is new in the cache', { type: 'added', object: cachedClaim() }],
    ['when the claim requests another class', updated({}, { wantedClass: 'gold' })],
    [
      'when the claim no longer requests a class',
      updated({ wantedClass: 'gold', status: inProgress }, { status: inProgress }),
    ],
    [
      'when the claim is bound while it is being modified',
      updated({ status: { ...inProgress, phase: 'Pending' } }, { status: inProgress }),
    ],
    [
      'when the claim is bound',
      updated({ wantedClass: 'gold', status: { phase: 'Pending' } }, { wantedClass: 'gold' }),
    ],
    [
      'when a modification has ended and the claim requests another class',
      updated({ wantedClass: 'silver', status: inProgress }, { wantedClass: 'silver', status: gold }),
    ],
    [
      'at a resync if the claim requests another class',
      updated({ wantedClass: 'gold' }, { wantedClass: 'gold' }, 'resync'),
    ],
  ])('a run of a modification starts %s', (_what, event) => expect(onClaim(event)).toEqual(['ns/data']))

  it.each<[name: string, event: InformerEvent<ResizerClaim>]>([
    ['when the claim is deleted', { type: 'deleted', object: cachedClaim() }],
    [
      'when the claim is not bound',
      updated({ status: { phase: 'Lost' } }, { wantedClass: 'gold', status: { phase: 'Lost' } }),
    ],
    [
      'when a modification to the requested class has ended',
      updated({ wantedClass: 'gold', status: inProgress }, { wantedClass: 'gold', status: gold }),
    ],
    ['when only the requested size changes', updated({}, { request: '2Gi' })],
    [
      'at a resync while the claim is being modified',
      updated({ wantedClass: 'gold', status: inProgress }, { wantedClass: 'gold', status: inProgress }, 'resync'),
    ],
  ])('no run of a modification starts %s', (_what, event) => expect(onClaim(event)).toEqual([]))
})

describe('classChanged', () => {
  it('`classChanged` returns the key of a claim whose requested class changes', () =>
    expect(classChanged(updated({}, { wantedClass: 'gold' }))).toEqual(['ns/data']))

  it.each<[name: string, event: InformerEvent<ResizerClaim>]>([
    ['a claim that is new in the cache', { type: 'added', object: cachedClaim({ wantedClass: 'gold' }) }],
    ['a change of another field', updated({ wantedClass: 'gold' }, { wantedClass: 'gold', request: '2Gi' })],
  ])('`classChanged` ignores %s', (_what, event) => expect(classChanged(event)).toEqual([]))
})

describe('wasTried', () => {
  it.each([
    [undefined, false],
    ['Pending', false],
    ['InProgress', true],
    ['Infeasible', true],
  ])('`wasTried` reports for a claim whose modification has status %s: %s', (status, expected) => {
    const modifyVolumeStatus = status && { modifyVolumeStatus: { status } }
    expect(wasTried(cachedClaim({ status: { ...modifyVolumeStatus } }))).toBe(expected)
  })
})

/** Returns a claim in the cache with this status of its modification. */
const claimWithModification = (name: string, status: string, target: string): ResizerClaim =>
  cachedClaim({ name, status: { modifyVolumeStatus: { status, targetVolumeAttributesClassName: target } } })

describe('recallEarlierCalls', () => {
  it('at the start, a modification in progress counts as running: the process may have ended during the call', () => {
    const claims = new ScriptedInformer(
      cachedClaim({ name: 'plain' }),
      claimWithModification('running', 'InProgress', 'gold'),
      claimWithModification('infeasible', 'Infeasible', 'gold'),
      claimWithModification('pending', 'Pending', 'gold'),
    )
    const { uncertain } = new ModifyMemory(new FakeClock(), 0)
    const requests: string[] = []
    const end = recallEarlierCalls(claims.asInformer(), { uncertain })(recordingQueue(requests))
    end()
    expect([[...uncertain], requests]).toEqual([['ns/running'], []])
  })
})

describe('retryRecreatedClasses', () => {
  const gold: AttributesClass = { key: 'gold', uid: 'g', resourceVersion: '1', driverName: DRIVER, parameters: {} }
  const claims = new ScriptedInformer(
    cachedClaim({ name: 'plain' }),
    claimWithModification('refused', 'Infeasible', 'gold'),
    claimWithModification('other', 'Infeasible', 'silver'),
  )

  /** Returns the requests to the queue after an event of the class, and the claims that still count as infeasible. */
  function after(event: InformerEvent<AttributesClass>) {
    const { infeasibleClaims } = new ModifyMemory(new FakeClock(), 60_000)
    const keys = ['ns/refused', 'ns/other']
    for (const key of keys) infeasibleClaims.add(key)
    const classes = new ScriptedInformer<AttributesClass>()
    const requests: string[] = []
    const end = retryRecreatedClasses(classes, claims.asInformer(), { infeasibleClaims })(recordingQueue(requests))
    classes.emit(event)
    end()
    expect(classes.listeners.size).toBe(0)
    return { requests, infeasible: keys.filter((key) => infeasibleClaims.expiresInMs(key) !== undefined) }
  }

  it('a recreated class starts runs of the claims that target it, as if the driver had not refused them', () => {
    expect(after({ type: 'added', object: gold })).toEqual({
      requests: ['forget history of ns/refused', 'add ns/refused'],
      infeasible: ['ns/other'],
    })
  })

  it.each<[string, InformerEvent<AttributesClass>]>([
    ['changes', { type: 'updated', before: gold, after: gold, origin: 'change' }],
    ['is deleted', { type: 'deleted', object: gold }],
  ])('a refusal counts although the class %s: its parameters cannot change', (_, event) => {
    expect(after(event)).toEqual({ requests: [], infeasible: ['ns/refused', 'ns/other'] })
  })
})
