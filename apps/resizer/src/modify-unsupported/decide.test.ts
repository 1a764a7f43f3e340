import { describe, expect, it } from '@jest/globals'
import { projectClaim } from '../caches/claim.ts'
import { volumeProjection } from '../caches/volume.ts'
import { claim, DRIVER, type VolumeFields, volume } from '../testing/builders.ts'
import { decideUnsupported } from './decide.ts'

const onVolume = { kind: 'awaitVolume', waitsFor: { kind: 'volume', name: 'pv-data' } }
const report = { kind: 'report', className: 'gold', waitsFor: { kind: 'capability', name: 'MODIFY_VOLUME' } }

describe('decideUnsupported', () => {
  it.each<
    [name: string, wantedClass: string | undefined, status: object, volume: VolumeFields | 'missing', plan: unknown]
  >([
    ['a claim without a class needs no report', undefined, {}, {}, []],
    ['a claim with its class needs no report', 'gold', { currentVolumeAttributesClassName: 'gold' }, {}, []],
    ['an unbound claim needs no report', 'gold', { phase: 'Lost' }, {}, []],
    ['a claim waits for a volume that is not cached', 'gold', {}, 'missing', [onVolume]],
    ["another driver's volume is ignored", 'gold', {}, { driver: 'other.example.com' }, []],
    ['a class that the driver cannot apply is reported', 'gold', {}, {}, [report]],
  ])('%s', (_, wantedClass, status, fields, plan) => {
    const cached = projectClaim(claim({ ...(wantedClass !== undefined && { wantedClass }), status }))
    const pv = fields === 'missing' ? undefined : volumeProjection(DRIVER)(volume(fields))
    expect(decideUnsupported({ claim: cached, volume: pv })).toEqual(plan)
  })
})
