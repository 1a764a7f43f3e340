import type { FieldErrors } from '../http/field-errors.ts'
import {
  type ApiObject,
  at,
  isObject,
  listAt,
  objectAt,
  sameJson,
  textAt,
  withField,
  withMeta,
  withSpec,
  withStatus,
} from '../schema/json.ts'
import { configMapKey, label, qualifiedName, subdomain } from './names.ts'
import { fields, notBelow } from './rules.ts'
import type { Strategies, Strategy } from './strategy.ts'

const MAX_DATA_BYTES = 1024 * 1024

const namespace: Strategy = {
  name: label,
  defaults: (object) => {
    const name = { 'kubernetes.io/metadata.name': object.metadata.name ?? '' }
    return withMeta(object, { labels: { ...object.metadata.labels, ...name } })
  },
  prepareCreate(object) {
    const requested = listAt(object, 'spec', 'finalizers')
    const finalizers = requested.includes('kubernetes') ? requested : [...requested, 'kubernetes']
    return { ...withSpec(object, (spec) => ({ ...spec, finalizers })), status: { phase: 'Active' } }
  },
  prepareUpdate: (object, old) => withField(object, 'spec', old['spec']),
}

const node: Strategy = {
  keepsStatus: true,
  defaults(object) {
    const { capacity, allocatable } = objectAt(object, 'status') ?? {}
    return capacity === undefined || allocatable !== undefined ? object : withStatus(object, { allocatable: capacity })
  },
  /** Adds the taint `not-ready` to a new node, as kube-apiserver does. */
  prepareCreate(object) {
    const taints = listAt(object, 'spec', 'taints')
    const key = 'node.kubernetes.io/not-ready'
    if (taints.some((taint) => textAt(taint, 'key') === key)) return object
    return withSpec(object, (spec) => ({ ...spec, taints: [...taints, { key, effect: 'NoSchedule' }] }))
  },
  validateUpdate(errors, object, old) {
    const provider = textAt(old, 'spec', 'providerID') ?? ''
    if (provider !== '' && provider !== textAt(object, 'spec', 'providerID')) {
      errors.forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid')
    }
  },
}

const secret: Strategy = {
  defaults: withStringData,
  validate: (errors, object) => checkData(errors, object, { fields: ['data'], wholeField: 'data' }),
  fixed: ['type'],
  validateUpdate: (errors, object, old) => checkImmutable(errors, { object, old }, ['data']),
}

/** Moves `stringData`, which only writers use, into `data`. */
function withStringData(object: ApiObject): ApiObject {
  const { stringData } = object
  if (!isObject(stringData)) return object
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(String(text)).toString('base64')])
  const data = { ...objectAt(object, 'data'), ...Object.fromEntries(encoded) }
  return withField({ ...object, data }, 'stringData', undefined)
}

const configMap: Strategy = {
  validate: (errors, object) => checkData(errors, object, { fields: ['data', 'binaryData'], wholeField: '' }),
  validateUpdate: (errors, object, old) => checkImmutable(errors, { object, old }, ['data', 'binaryData']),
}

function checkData(
  errors: FieldErrors,
  object: ApiObject,
  { fields, wholeField }: { readonly fields: readonly string[]; readonly wholeField: string },
): void {
  let bytes = 0
  const seen = new Set<string>()
  for (const field of fields) {
    for (const [key, value] of Object.entries(objectAt(object, field) ?? {})) {
      errors.checked(`${field}[${key}]`, key, configMapKey)
      if (seen.has(key)) errors.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData')
      seen.add(key)
      const text = String(value)
      bytes += field === 'data' && wholeField === '' ? Buffer.byteLength(text) : Buffer.byteLength(text, 'base64')
    }
  }
  if (bytes > MAX_DATA_BYTES) errors.tooLong(wholeField, MAX_DATA_BYTES)
}

function checkImmutable(
  errors: FieldErrors,
  { object, old }: { readonly object: ApiObject; readonly old: ApiObject },
  fields: readonly string[],
): void {
  if (at(old, 'immutable') !== true) return
  const changed = ['immutable', ...fields].filter((field) => !sameJson(object[field], old[field]))
  for (const field of changed) errors.forbidden(field, 'field is immutable when `immutable` is set')
}

const event: Strategy = {
  name: subdomain,
  anyFinalizer: true,
  validate(errors, object) {
    const namespace = object.metadata.namespace ?? ''
    const involved = textAt(object, 'involvedObject', 'namespace') ?? ''
    const why = 'does not match event.namespace'
    const isNew = (at(object, 'eventTime') ?? null) !== null
    if (isNew) {
      if (involved === '' && namespace !== 'default' && namespace !== 'kube-system') {
        errors.invalid('involvedObject.namespace', involved, why)
      }
      checkNewEvent(errors, object)
    } else if (involved === '' ? namespace !== 'default' : namespace !== involved) {
      errors.invalid('involvedObject.namespace', involved, why)
    }
  },
}

/** Checks an Event with an `eventTime`. Such Events must satisfy more rules than the Events of old clients. */
function checkNewEvent(errors: FieldErrors, object: ApiObject): void {
  const component = textAt(object, 'reportingComponent') ?? ''
  if (component === '') errors.required('reportingComponent')
  errors.checked('reportingComponent', component, qualifiedName)
  for (const field of ['reportingInstance', 'action', 'reason', 'message']) {
    const isMessage = field === 'message'
    const value = textAt(object, field) ?? ''
    const most = isMessage ? 1024 : 128
    if (!isMessage) errors.needed(field, value)
    if (value.length > most) errors.invalid(field, '', `can have at most ${most} characters`)
  }
}

const lease: Strategy = {
  anyFinalizer: true,
  rules: fields({
    spec: fields({
      leaseDurationSeconds: notBelow(1, 'must be greater than 0'),
      leaseTransitions: notBelow(0, 'must be greater than or equal to 0'),
    }),
  }),
  validate(errors, object) {
    const { preferredHolder, strategy } = objectAt(object, 'spec') ?? {}
    if ((preferredHolder ?? '') !== '' && (strategy ?? '') === '') {
      errors.forbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined')
    }
  },
}

export const CORE: Strategies = {
  ConfigMap: configMap,
  Event: event,
  Lease: lease,
  Namespace: namespace,
  Node: node,
  Secret: secret,
}
