import type { Driver } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import { describe, expect, it } from '@jest/globals'
import type { Claim } from '../caches/claim.ts'
import type { Volume } from '../caches/volume.ts'
import { claim, DRIVER, lookups, volume } from '../testing/objects.ts'
import { sourceHandle } from './clone.ts'
import { allowedTopology } from './provision.ts'

const wanted = claim({ name: 'copy', cloneOf: 'data' })
const source = claim({ phase: 'Bound', volumeName: 'pv-1' })
const pv = volume({ key: 'pv-1', csi: { driver: DRIVER, volumeHandle: 'handle' } })

interface Change {
  readonly claims?: readonly Claim[]
  readonly volumes?: readonly Volume[]
  readonly can?: readonly ControllerRpc[]
}

function handle(change: Change = {}): string | undefined {
  const { claims = [source], volumes = [pv], can = [ControllerRpc.CLONE_VOLUME] } = change
  const driver = { name: DRIVER, capabilities: { controller: new Set(can) } } as unknown as Driver
  return sourceHandle(wanted, lookups({ claims, volumes }), driver)
}

describe('the source of a clone', () => {
  it('returns the handle of the volume that is bound to the source claim', () => {
    expect(handle()).toBe('handle')
  })

  it.each<[string, Change]>([
    ['CSI driver does not support clone operations', { can: [] }],
    ['error getting PVC data (namespace "default") from api server', { claims: [] }],
    ['the PVC DataSource data is currently being deleted', { claims: [{ ...source, deleting: true }] }],
    ['must be in the same storage class for cloning', { claims: [{ ...source, className: 'slow' }] }],
    [
      'the PVC DataSource data must have a status of Bound.  Got Pending',
      { claims: [{ ...source, phase: 'Pending' }] },
    ],
    ['the source volume is of another driver', { volumes: [{ ...pv, csi: { driver: 'other', volumeHandle: 'h' } }] }],
  ])('cannot be had: %s', (why, change) => {
    const begins = 'error getting handle for DataSource Type PersistentVolumeClaim by Name data: '
    expect(() => handle(change)).toThrow(begins)
    expect(() => handle(change)).toThrow(why)
  })
})

describe('the places that a class allows', () => {
  it('combines the values of each term, and returns undefined if there are no terms', () => {
    const zone = { key: 'zone', values: ['east', 'west'] }
    const rack = { key: 'rack', values: ['1'] }
    const all = allowedTopology([{ matchLabelExpressions: [zone, rack] }, { matchLabelExpressions: [rack] }])
    expect(all?.requisite.map(({ segments }) => segments)).toEqual([
      { zone: 'east', rack: '1' },
      { zone: 'west', rack: '1' },
      { rack: '1' },
    ])
    expect(allowedTopology(undefined)).toBeUndefined()
  })
})
