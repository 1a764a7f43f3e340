import { at, type KubeObject, objectAt, sameJson, textAt } from '../json.ts'
import { qualifiedName } from '../names.ts'
import type { Problems } from '../problems.ts'
import type { Strategy } from './strategy.ts'

const MOST_PARAMETERS = 512
const MOST_PARAMETER_BYTES = 256 * 1024

export const storageClassStrategy: Strategy = {
  defaults: (object) => ({
    ...object,
    reclaimPolicy: object['reclaimPolicy'] ?? 'Delete',
    volumeBindingMode: object['volumeBindingMode'] ?? 'Immediate',
  }),
  validate(problems, object) {
    checkProvisioner(problems, 'provisioner', textAt(object, 'provisioner') ?? '')
    checkParameters(problems, object)
    const policy = textAt(object, 'reclaimPolicy') ?? ''
    if (policy !== '' && !POLICIES.includes(policy)) problems.unsupported('reclaimPolicy', policy, POLICIES)
    const mode = textAt(object, 'volumeBindingMode') ?? ''
    if (!BINDING_MODES.includes(mode)) problems.unsupported('volumeBindingMode', mode, BINDING_MODES)
  },
  validateUpdate(problems, object, old) {
    for (const field of ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode']) {
      if (!sameJson(object[field], old[field])) problems.invalid(field, object[field], 'field is immutable')
    }
  },
}

const POLICIES = ['Delete', 'Retain']
const BINDING_MODES = ['Immediate', 'WaitForFirstConsumer']

export const volumeAttributesClassStrategy: Strategy = {
  validate(problems, object) {
    checkProvisioner(problems, 'driverName', textAt(object, 'driverName') ?? '')
    checkParameters(problems, object)
    if (Object.keys(objectAt(object, 'parameters') ?? {}).length === 0) {
      problems.required('parameters', 'must contain at least one key/value pair')
    }
  },
  validateUpdate(problems, object, old) {
    if (at(object, 'driverName') !== at(old, 'driverName')) {
      problems.forbidden('driverName', 'updates to driverName are forbidden.')
    }
    if (!sameJson(object['parameters'], old['parameters'])) {
      problems.forbidden('parameters', 'updates to parameters are forbidden.')
    }
  },
}

function checkProvisioner(problems: Problems, field: string, name: string): void {
  if (name === '') problems.required(field)
  else for (const each of qualifiedName(name.toLowerCase())) problems.invalid(field, name.toLowerCase(), each)
}

function checkParameters(problems: Problems, object: KubeObject): void {
  const parameters = Object.entries(objectAt(object, 'parameters') ?? {})
  if (parameters.length > MOST_PARAMETERS) {
    problems.tooLong('parameters', MOST_PARAMETERS)
    return
  }
  let bytes = 0
  for (const [key, value] of parameters) {
    if (key === '') problems.invalid('parameters', key, 'field can not be empty.')
    bytes += Buffer.byteLength(key) + Buffer.byteLength(String(value))
  }
  if (bytes > MOST_PARAMETER_BYTES) problems.tooLong('parameters', MOST_PARAMETER_BYTES)
}
