import { Quantity } from '@csi-sidecars/kube-types'
import type { FieldErrors } from '../http/field-errors.ts'
import {
  at,
  isObject,
  type Json,
  type KubeObject,
  listAt,
  objectAt,
  sameJson,
  textAt,
  withField,
} from '../schema/json.ts'
import { qualifiedName, subdomain } from './names.ts'
import { checkDriverName } from './persistent-volume.ts'
import type { Strategy } from './strategy.ts'

const LONGEST_NODE_ID = 256
const GROUP_POLICIES = ['File', 'None', 'ReadWriteOnceWithFSType']
const LIFECYCLE_MODES = ['Persistent', 'Ephemeral']
const SHORTEST_TOKEN_SECONDS = [600, 'may not specify a duration less than 10 minutes'] as const
const SHORTEST_PERIOD_SECONDS = [10, 'must be greater than or equal to 10 seconds'] as const
const NOT_NEGATIVE = [0, 'must be greater than or equal to 0'] as const

const TOKENS_WARNING =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of ' +
  'tokens in volume attributes'

export const csiDriverStrategy: Strategy = {
  defaults(object) {
    const spec = objectAt(object, 'spec') ?? {}
    const modes = listAt(spec, 'volumeLifecycleModes')
    return {
      ...object,
      spec: {
        attachRequired: true,
        fsGroupPolicy: 'ReadWriteOnceWithFSType',
        podInfoOnMount: false,
        requiresRepublish: false,
        seLinuxMount: false,
        storageCapacity: false,
        ...spec,
        volumeLifecycleModes: modes.length === 0 ? ['Persistent'] : modes,
      },
    }
  },
  validate: checkDriver,
  warnings(object, old) {
    const requests = listAt(object, 'spec', 'tokenRequests')
    const same = old !== undefined && sameJson(requests, listAt(old, 'spec', 'tokenRequests'))
    const decided = at(object, 'spec', 'serviceAccountTokenInSecrets') !== undefined
    return requests.length === 0 || same || decided ? [] : [TOKENS_WARNING]
  },
  validateUpdate(errors, object, old) {
    // The first name is the real server's own, it says `attached`.
    const fixed: readonly (readonly [string, string])[] = [
      ['attachRequired', 'attachedRequired'],
      ['volumeLifecycleModes', 'volumeLifecycleModes'],
    ]
    for (const [field, said] of fixed) {
      errors.unchanged(`spec.${said}`, at(object, 'spec', field), at(old, 'spec', field))
    }
  },
}

function checkDriver(errors: FieldErrors, object: KubeObject): void {
  errors.oneOf('spec.fsGroupPolicy', textAt(object, 'spec', 'fsGroupPolicy'), GROUP_POLICIES)
  const audiences = new Set<Json | undefined>()
  listAt(object, 'spec', 'tokenRequests').forEach((request, index) => {
    const path = `spec.tokenRequests[${index}]`
    const audience = at(request, 'audience')
    if (audiences.has(audience)) errors.duplicate(`${path}.audience`, audience ?? '')
    audiences.add(audience)
    errors.notBelow(`${path}.expirationSeconds`, at(request, 'expirationSeconds'), SHORTEST_TOKEN_SECONDS)
  })
  for (const mode of listAt(object, 'spec', 'volumeLifecycleModes')) {
    errors.oneOf('spec.volumeLifecycleModes', mode, LIFECYCLE_MODES)
  }
  const period = 'nodeAllocatableUpdatePeriodSeconds'
  errors.notBelow(`spec.${period}`, at(object, 'spec', period), SHORTEST_PERIOD_SECONDS)
}

export const csiNodeStrategy: Strategy = {
  validate(errors, object) {
    const names = new Set<string>()
    listAt(object, 'spec', 'drivers').forEach((driver, index) => {
      checkNodeDriver(errors, { path: `spec.drivers[${index}]`, names }, driver)
    })
  },
  validateUpdate(errors, object, old) {
    for (const before of listAt(old, 'spec', 'drivers')) {
      const name = textAt(before, 'name')
      const now = listAt(object, 'spec', 'drivers').find((driver) => textAt(driver, 'name') === name)
      if (now !== undefined) errors.unchanged('spec.drivers', withoutAllocatable(now), withoutAllocatable(before))
    }
  },
}

export const csiStorageCapacityStrategy: Strategy = {
  validate(errors, object) {
    errors.checked('storageClassName', textAt(object, 'storageClassName') ?? '', subdomain)
    for (const field of ['capacity', 'maximumVolumeSize']) {
      const amount = at(object, field)
      if ((Quantity.tryParse(String(amount))?.sign() ?? 0) < 0) {
        errors.invalid(field, amount, 'must be greater than or equal to 0')
      }
    }
  },
  validateUpdate(errors, object, old) {
    for (const field of ['nodeTopology', 'storageClassName']) {
      errors.unchanged(field, object[field], old[field])
    }
  },
}

/** How many volumes a node takes may change; the rest of an entry may not. */
function withoutAllocatable(driver: Json): Json {
  return isObject(driver) ? withField(driver, 'allocatable', undefined) : driver
}

function checkNodeDriver(
  errors: FieldErrors,
  { path, names }: { readonly path: string; readonly names: Set<string> },
  driver: Json,
): void {
  const name = textAt(driver, 'name') ?? ''
  checkDriverName(errors, `${path}.name`, name)
  const nodeId = textAt(driver, 'nodeID') ?? ''
  if (nodeId === '') errors.required(`${path}.nodeID`)
  if (nodeId.length > LONGEST_NODE_ID) {
    errors.invalid(`${path}.nodeID`, nodeId, `must be ${LONGEST_NODE_ID} characters or less`)
  }
  errors.notBelow(`${path}.allocatable.count`, at(driver, 'allocatable', 'count'), NOT_NEGATIVE)
  if (names.has(name)) errors.duplicate(`${path}.name`, name)
  names.add(name)
  const keys = new Set<string>()
  for (const key of listAt(driver, 'topologyKeys').map(String)) {
    if (key === '') errors.required(path)
    if (keys.has(key)) errors.duplicate(path, key)
    keys.add(key)
    errors.checked(path, key, qualifiedName)
  }
}
