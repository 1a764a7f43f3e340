import { Quantity } from '@csi-sidecars/kube-types'
import type { FieldErrors } from '../http/field-errors.ts'
import {
  at,
  isObject,
  type Json,
  type KubeObject,
  listAt,
  sameJson,
  textAt,
  withField,
  withSpec,
} from '../schema/json.ts'
import { qualifiedName, subdomain } from './names.ts'
import { checkDriverName } from './persistent-volume.ts'
import type { Strategies, Strategy } from './strategy.ts'

const LONGEST_NODE_ID = 256
const GROUP_POLICIES = ['File', 'None', 'ReadWriteOnceWithFSType']
const LIFECYCLE_MODES = ['Persistent', 'Ephemeral']
const SHORTEST_TOKEN_SECONDS = [600, 'may not specify a duration less than 10 minutes'] as const
const SHORTEST_PERIOD_SECONDS = [10, 'must be greater than or equal to 10 seconds'] as const
const NOT_NEGATIVE = [0, 'must be greater than or equal to 0'] as const

const TOKENS_WARNING =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of ' +
  'tokens in volume attributes'

const csiDriver: Strategy = {
  defaults: (object) =>
    withSpec(object, (spec) => {
      const modes = listAt(spec, 'volumeLifecycleModes')
      return { ...spec, volumeLifecycleModes: modes.length === 0 ? ['Persistent'] : modes }
    }),
  validate: checkDriver,
  warnings(object, old) {
    const requests = listAt(object, 'spec', 'tokenRequests')
    const same = old !== undefined && sameJson(requests, listAt(old, 'spec', 'tokenRequests'))
    const decided = at(object, 'spec', 'serviceAccountTokenInSecrets') !== undefined
    return requests.length === 0 || same || decided ? [] : [TOKENS_WARNING]
  },
  validateUpdate(errors, object, old) {
    // The name is the real server's own, it says `attached`.
    errors.unchanged('spec.attachedRequired', at(object, 'spec', 'attachRequired'), at(old, 'spec', 'attachRequired'))
    const [now, before] = [object, old].map((each) => at(each, 'spec', 'volumeLifecycleModes'))
    errors.unchanged('spec.volumeLifecycleModes', now, before)
  },
}

function checkDriver(errors: FieldErrors, object: KubeObject): void {
  errors.oneOf('spec.fsGroupPolicy', textAt(object, 'spec', 'fsGroupPolicy'), GROUP_POLICIES)
  const audiences = new Set<string>()
  listAt(object, 'spec', 'tokenRequests').forEach((request, index) => {
    const path = `spec.tokenRequests[${index}]`
    errors.unique(`${path}.audience`, textAt(request, 'audience') ?? '', audiences)
    errors.notBelow(`${path}.expirationSeconds`, at(request, 'expirationSeconds'), SHORTEST_TOKEN_SECONDS)
  })
  for (const mode of listAt(object, 'spec', 'volumeLifecycleModes')) {
    errors.oneOf('spec.volumeLifecycleModes', mode, LIFECYCLE_MODES)
  }
  const period = 'nodeAllocatableUpdatePeriodSeconds'
  errors.notBelow(`spec.${period}`, at(object, 'spec', period), SHORTEST_PERIOD_SECONDS)
}

const csiNode: Strategy = {
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

const csiStorageCapacity: Strategy = {
  validate(errors, object) {
    errors.checked('storageClassName', textAt(object, 'storageClassName') ?? '', subdomain)
    for (const field of ['capacity', 'maximumVolumeSize']) {
      const amount = at(object, field)
      if ((Quantity.tryParse(String(amount))?.sign() ?? 0) < 0) {
        errors.invalid(field, amount, 'must be greater than or equal to 0')
      }
    }
  },
  fixed: ['nodeTopology', 'storageClassName'],
}

export const CSI: Strategies = { CSIDriver: csiDriver, CSINode: csiNode, CSIStorageCapacity: csiStorageCapacity }

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
  errors.needed(`${path}.nodeID`, nodeId)
  if (nodeId.length > LONGEST_NODE_ID) {
    errors.invalid(`${path}.nodeID`, nodeId, `must be ${LONGEST_NODE_ID} characters or less`)
  }
  errors.notBelow(`${path}.allocatable.count`, at(driver, 'allocatable', 'count'), NOT_NEGATIVE)
  errors.unique(`${path}.name`, name, names)
  const keys = new Set<string>()
  for (const key of listAt(driver, 'topologyKeys').map(String)) {
    if (key === '') errors.required(path)
    errors.unique(path, key, keys)
    errors.checked(path, key, qualifiedName)
  }
}
