import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, expect, it } from '@jest/globals'
import type { ProvisionerClaim } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { CLAIMS_BY_UID } from '../caches/open.ts'
import type { ProvisionerVolume } from '../caches/volume.ts'
import type { ProvisionerSettings } from '../parts.ts'
import { ClaimMemory, type UncertainCall, type UnsavedVolume } from './memory.ts'
import { type ObserveDeps, observeClaim } from './observe.ts'

const CLAIM = {
  key: 'ns/a',
  uid: 'uid',
  classField: 'fast',
  requestedVolume: { annotations: {} },
} as unknown as ProvisionerClaim
const CLASS = { key: 'fast', uid: 'class-uid' } as Class
const FORMER = { key: 'fast', uid: 'former-uid' } as Class
const VOLUME = { key: 'pvc-uid', claimUid: 'uid' } as ProvisionerVolume
const SETTINGS = { volumeNamePrefix: 'pvc', volumeNameUuidLength: -1, node: undefined } as ProvisionerSettings

let memory: ClaimMemory
let claims: readonly ProvisionerClaim[]
let classes: Map<string, Class>
let volumes: Map<string, ProvisionerVolume>
let settings: ProvisionerSettings

const observed = () => {
  const byIndex = (index: string, value: string): readonly ProvisionerClaim[] =>
    index === CLAIMS_BY_UID ? claims.filter(({ uid }) => uid === value) : []
  const stores = { claims: { store: { byIndex } }, volumes: { store: volumes }, classes: { store: classes } }
  return observeClaim('uid', { ...stores, topology: undefined, memory, settings } as ObserveDeps)
}

beforeEach(() => {
  memory = new ClaimMemory(new FakeClock(), 60_000)
  claims = [CLAIM]
  classes = new Map([['fast', CLASS]])
  volumes = new Map()
  settings = SETTINGS
})

it.each<[string, () => void, object]>([
  ['a new claim', () => {}, { claim: CLAIM, class: CLASS, volumeName: 'pvc-uid', existingVolume: undefined }],
  ['a claim without a class', () => classes.clear(), { class: undefined, pausedForMs: 0 }],
  ['the PersistentVolume of a claim', () => volumes.set('pvc-uid', VOLUME), { existingVolume: VOLUME }],
  ['a running creation with its class', () => follow(), { claim: CLAIM, class: FORMER, isCallUncertain: true }],
  ['a running creation of a deleted claim', () => deleted(), { claim: CLAIM, class: FORMER, isCallUncertain: true }],
  [
    'a volume that is stored later',
    () => memory.unsavedVolumes.set('pvc-uid', {} as UnsavedVolume),
    { hasUnsavedVolume: true },
  ],
  ['an infeasible claim', () => memory.pauseClaim('uid', 'class-uid'), { pausedForMs: 60_000 }],
  ['an infeasible claim with a new class', () => memory.pauseClaim('uid', 'former-uid'), { pausedForMs: 0 }],
  ['no impossible name', () => rename({ volumeNamePrefix: '' }), { volumeName: undefined, existingVolume: undefined }],
  ['a shortened volume name', () => rename({ volumeNameUuidLength: 2 }), { volumeName: 'pvc-ui' }],
])('`observeClaim` returns %s', (_, change, view) => {
  change()
  expect(observed()).toMatchObject(view)
})

it('`observeClaim` returns undefined for a claim that is bound or deleted', () => {
  claims = []
  expect(observed()).toBeUndefined()
})

function follow(): void {
  memory.uncertainCalls.set('uid', { prepared: { claim: CLAIM, class: FORMER } } as UncertainCall)
}

function deleted(): void {
  follow()
  claims = []
}

function rename(rule: Partial<ProvisionerSettings>): void {
  settings = { ...SETTINGS, ...rule }
}
