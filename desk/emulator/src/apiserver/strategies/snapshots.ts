import type { FieldErrors } from '../http/field-errors.ts'
import { type ApiObject, at, sameJson, withMeta } from '../schema/json.ts'
import { type FieldRule, fields, ifPresent, oneOf } from './rules.ts'
import type { Strategies, Strategy } from './strategy.ts'

/** A validation rule of a CRD. It is evaluated only if the schema accepts the object. */
type CustomRule = (errors: FieldErrors, object: ApiObject, old: ApiObject | undefined) => void

/** Requires a field. If the field is set, `rules` apply to the fields inside it. */
function required(rules: Readonly<Record<string, FieldRule>> = {}): FieldRule {
  return (errors, path, value) => {
    if (value === undefined) errors.required(path)
    else fields(rules)(errors, path, value)
  }
}

const policy: FieldRule = (errors, path, value) => {
  required()(errors, path, value)
  ifPresent(oneOf('Delete', 'Retain'))(errors, path, value)
}

/** Forbids to change a field that is set. The rule allows to remove the field. */
function immutable(path: string, when = ' once set'): CustomRule {
  const steps = path.split('.')
  return (errors, object, old) => {
    const [now, before] = [at(object, ...steps), at(old, ...steps)]
    if (now === undefined || before === undefined || sameJson(now, before)) return
    errors.broken(path, now, `${steps.at(-1)} is immutable${when}`)
  }
}

function requiredOnceSet(parent: string, field: string): CustomRule {
  const steps = parent.split('.')
  return (errors, object, old) => {
    if (at(old, ...steps, field) === undefined || at(object, ...steps, field) !== undefined) return
    errors.broken(parent, at(object, ...steps), `${field} is required once set`)
  }
}

/** Requires exactly one of two fields in `spec.source`, and forbids to change them. */
function oneSource(first: string, second: string): readonly CustomRule[] {
  const path = 'spec.source'
  const exclusive: CustomRule = (errors, object) => {
    const source = at(object, 'spec', 'source')
    if ((at(source, first) === undefined) !== (at(source, second) === undefined)) return
    errors.broken(path, source, `exactly one of ${first} and ${second} must be set`)
  }
  const each = [first, second].flatMap((field) => [requiredOnceSet(path, field), immutable(`${path}.${field}`, '')])
  return [...each, exclusive]
}

function boundTo(field: string, displayed: string): CustomRule {
  return (errors, object) => {
    const reference = at(object, 'spec', field)
    if (at(reference, 'name') !== undefined && at(reference, 'namespace') !== undefined) return
    errors.broken(`spec.${field}`, reference, `both ${displayed}.name and ${displayed}.namespace must be set`)
  }
}

/** Forbids that a VolumeGroupSnapshotContent changes its reference to the VolumeGroupSnapshot. */
const sameGroup: CustomRule = (errors, object, old) => {
  const path = ['spec', 'volumeGroupSnapshotRef']
  const [now, before] = [at(object, ...path), at(old, ...path)]
  if (before === undefined) return
  const field = path.join('.')
  if (['name', 'namespace'].some((each) => at(now, each) !== at(before, each))) {
    const why = 'volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace are immutable'
    errors.broken(field, now, why)
  }
  if (at(before, 'uid') !== undefined && at(now, 'uid') !== at(before, 'uid')) {
    errors.broken(field, now, 'volumeGroupSnapshotRef.uid is immutable once set')
  }
}

function notEmpty(path: string): CustomRule {
  const steps = path.split('.')
  return (errors, object) => {
    if (at(object, ...steps) !== '') return
    errors.broken(path, '', `${steps.at(-1)} must not be the empty string when set`)
  }
}

/** The schema errors after which kube-apiserver does not check the CEL rules. */
const BLOCKING = ['FieldValueRequired', 'FieldValueNotSupported']

const UNCHECKED =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'

function custom(schema: FieldRule, rules: readonly CustomRule[], statusRules: readonly CustomRule[] = []): Strategy {
  const check = (errors: FieldErrors, object: ApiObject, old: ApiObject | undefined): void => {
    const all = [...rules, ...statusRules]
    const blocked = errors.causes.some(({ reason }) => BLOCKING.includes(reason))
    if (blocked && all.length > 0) errors.invalid('<nil>', undefined, UNCHECKED)
    if (!blocked) for (const rule of all) rule(errors, object, old)
  }
  return {
    anyFinalizer: true,
    rules: schema,
    validate: check,
    // A status write keeps the stored metadata, and ignores the UID in its body.
    prepareStatus: (object, old) => {
      const { managedFields } = object.metadata
      return { ...object, metadata: withMeta(old, { managedFields }).metadata }
    },
    validateStatus(errors, object, old) {
      const size = at(object, 'status', 'restoreSize')
      const why = 'restoreSize in body should be greater than or equal to 0'
      if (typeof size === 'number' && size < 0) errors.invalid('status.restoreSize', size, why)
      check(errors, object, old)
    },
  }
}

export const SNAPSHOT_STRATEGIES: Strategies = {
  VolumeSnapshotClass: custom(fields({ deletionPolicy: policy, driver: required() }), []),
  VolumeGroupSnapshotClass: custom(fields({ deletionPolicy: policy, driver: required() }), [
    immutable('deletionPolicy'),
    immutable('driver'),
    (errors, object, old) => {
      const [now, before] = [object['parameters'], old?.['parameters']]
      if (now === undefined || before === undefined || sameJson(now, before)) return
      errors.broken('parameters', now, 'parameters are immutable once set')
    },
  ]),
  VolumeSnapshot: custom(fields({ spec: required({ source: required() }) }), [
    ...oneSource('volumeSnapshotContentName', 'persistentVolumeClaimName'),
    notEmpty('spec.volumeSnapshotClassName'),
  ]),
  VolumeGroupSnapshot: custom(
    fields({ spec: required({ source: required() }) }),
    [...oneSource('selector', 'volumeGroupSnapshotContentName'), notEmpty('spec.volumeGroupSnapshotClassName')],
    [immutable('status.boundVolumeGroupSnapshotContentName')],
  ),
  VolumeSnapshotContent: custom(
    fields({
      spec: required({ deletionPolicy: policy, driver: required(), source: required(), volumeSnapshotRef: required() }),
    }),
    [
      requiredOnceSet('spec', 'sourceVolumeMode'),
      immutable('spec.sourceVolumeMode', ''),
      ...oneSource('volumeHandle', 'snapshotHandle'),
      boundTo('volumeSnapshotRef', 'spec.volumeSnapshotRef'),
    ],
  ),
  VolumeGroupSnapshotContent: custom(
    fields({
      spec: required({
        deletionPolicy: policy,
        driver: required(),
        source: required({
          groupSnapshotHandles: ifPresent(
            required({ volumeGroupSnapshotHandle: required(), volumeSnapshotHandles: required() }),
          ),
        }),
        volumeGroupSnapshotRef: required(),
      }),
    }),
    [
      immutable('spec.driver'),
      immutable('spec.volumeGroupSnapshotClassName'),
      ...oneSource('volumeHandles', 'groupSnapshotHandles'),
      boundTo('volumeGroupSnapshotRef', 'volumeGroupSnapshotRef'),
      sameGroup,
    ],
    [immutable('status.volumeGroupSnapshotHandle')],
  ),
}
