import { PARAMETER_VALUES } from '@csi-sidecars/csi'
import { describe, expect, it } from '@jest/globals'
import { claimProjection, type ProvisionerClaim } from '../caches/claim.ts'
import { claimParameters, withoutTemplates } from './claim-parameters.ts'

/** Returns the text with `$` in place of `%`. */
const t = (text: string): string => text.replaceAll('%', '$')
const TAGGED = { type: 'gp3', tagSpecification_1: t("team=%{pvc.labels['team']:-none}") }

interface Metadata {
  readonly labels?: Record<string, string>
  readonly annotations?: Record<string, string>
}

function claim({ labels, annotations }: Metadata): ProvisionerClaim {
  const metadata = {
    namespace: 'ns',
    name: 'data',
    uid: 'u1',
    ...(labels && { labels }),
    ...(annotations && { annotations }),
  }
  return claimProjection('f')({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata })
}
const expand = (parameters: Record<string, string>, metadata: Metadata = {}, usesRecord = true) =>
  claimParameters({ parameters, claim: claim(metadata), volumeName: 'pvc-u1', usesRecord })
const recorded = (values: object, uid = 'u1'): Metadata['annotations'] & object => ({
  [PARAMETER_VALUES]: JSON.stringify({ uid, values }),
})
const TEAM = "pvc.labels['team']:-none"

describe('claimParameters', () => {
  it('returns parameters without templates unchanged, and records nothing', () => {
    expect(expand({ type: 'gp3', odd: '$x $(y)' })).toEqual({
      parameters: { type: 'gp3', odd: '$x $(y)' },
      record: undefined,
    })
  })

  it('names never change, so they are not recorded', () => {
    const { parameters, valuesAnnotation } = expand({ a: t('%{pvc.namespace}/%{pvc.name}/%{pv.name}') })
    expect([parameters['a'], valuesAnnotation]).toEqual(['ns/data/pvc-u1', undefined])
  })

  it('records the values of labels and annotations, also missing ones', () => {
    const annotations = { 'example.com/owner': 'ann' }
    const { parameters, valuesAnnotation: record } = expand(
      { ...TAGGED, owner: t("%{pvc.annotations['example.com/owner']}") },
      { annotations },
    )
    expect(parameters).toEqual({ type: 'gp3', tagSpecification_1: 'team=none', owner: 'ann' })
    expect(JSON.parse(record ?? '')).toEqual({
      uid: 'u1',
      values: { [TEAM]: null, "pvc.annotations['example.com/owner']": 'ann' },
    })
  })

  it('a recorded value replaces a changed label while a call of an earlier process may be running', () => {
    const metadata = { labels: { team: 'new' }, annotations: recorded({ [TEAM]: 'old' }) }
    expect(expand(TAGGED, metadata).parameters['tagSpecification_1']).toBe('team=old')
    expect(expand(TAGGED, metadata, false).parameters['tagSpecification_1']).toBe('team=new')
  })

  it.each([
    ['of a copied claim', recorded({ [TEAM]: 'old' }, 'u0')],
    ['that is no JSON', { [PARAMETER_VALUES]: '{' }],
    ['without values', { [PARAMETER_VALUES]: '{"uid":"u1"}' }],
    ['with a number', recorded({ [TEAM]: 7 })],
    ['that is null', { [PARAMETER_VALUES]: 'null' }],
  ])('ignores a record %s', (_, annotations) => {
    expect(expand(TAGGED, { labels: { team: 'new' }, annotations }).parameters['tagSpecification_1']).toBe('team=new')
  })

  it('a forged record cannot bring a refused value to the driver', () => {
    const annotations = recorded({ [TEAM]: 'a,encrypted=false' })
    expect(() => expand(TAGGED, { annotations })).toThrow(expect.objectContaining({ name: 'ProvisionError' }))
  })

  it.each(['pvc.uid', 'pvc.labels', "pv.labels['x']", "pvc.finalizers['x']", 'volumesnapshot.name'])(
    'fails for the unknown variable %s',
    (variable) => {
      expect(() => expand({ a: `\${${variable}}` })).toThrow(/there is no variable|it is no variable/)
    },
  )

  it('a label named like a property of every object counts as missing', () => {
    expect(expand({ a: t("%{pvc.labels['valueOf']:-none}") }, { labels: { b: 'c' } }).parameters['a']).toBe('none')
  })
})

it('`withoutTemplates` drops parameters with templates', () => {
  expect(withoutTemplates(TAGGED)).toEqual({ type: 'gp3' })
})
