import type { AuthenticatedUser, Authentication } from '../access/authentication.ts'
import { type Access, decide } from '../access/authorization.ts'
import { decoded } from '../codec/decode.ts'
import { badRequest, invalid } from '../http/api-failure.ts'
import { FieldErrors } from '../http/field-errors.ts'
import { type ApiObject, type Json, type JsonMap, listAt, objectAt, textAt, withMeta } from '../schema/json.ts'
import { SELF_SUBJECT_ACCESS_REVIEW, SELF_SUBJECT_REVIEW, type ServedKind, TOKEN_REVIEW } from '../schema/kinds.ts'
import { type ObjectRegistry, timestamp, unstored, type WriteResult } from '../storage/registry.ts'

/** Answers a POST of a kind that is not stored. */
export function review(deps: ReviewParts, kind: ServedKind, input: ApiObject): WriteResult {
  const { object, warnings } = decoded(kind, input, { fieldValidation: 'Warn' })
  return { entry: unstored(answered(deps, kind, object)), created: true, warnings }
}

interface ReviewParts {
  readonly registry: ObjectRegistry
  readonly authentication: Authentication
  /** The user that sends the review. */
  readonly user: AuthenticatedUser
}

function answered({ registry, authentication, user }: ReviewParts, kind: ServedKind, object: ApiObject): ApiObject {
  switch (kind) {
    case TOKEN_REVIEW:
      return { ...object, status: tokenStatus(authentication, object) }
    case SELF_SUBJECT_REVIEW: {
      const asked = withMeta(object, { creationTimestamp: timestamp(registry.clock) })
      return { ...asked, status: { userInfo: infoOf(user) } }
    }
    case SELF_SUBJECT_ACCESS_REVIEW:
      return { ...object, status: accessStatus(registry, object, user) }
    default:
      return { ...object, status: accessStatus(registry, object, undefined) }
  }
}

function infoOf({ name, uid, groups, extra }: AuthenticatedUser): JsonMap {
  return { username: name, ...(uid === undefined ? {} : { uid }), groups, ...(extra !== undefined && { extra }) }
}

function tokenStatus(authentication: Authentication, object: ApiObject): JsonMap {
  const token = textAt(object, 'spec', 'token') ?? ''
  if (token === '') throw badRequest('token is required for TokenReview in authentication')
  const user = authentication.userOfToken(token)
  if (user === undefined) return { user: {}, error: 'invalid bearer token' }
  return { authenticated: true, user: infoOf(user), audiences: [AUDIENCE] }
}

const AUDIENCE = 'https://kubernetes.default.svc'

/** Reports whether a user may send a request. The user is `asker`, or if that is undefined, the user in the review. */
function accessStatus(registry: ObjectRegistry, object: ApiObject, asker: AuthenticatedUser | undefined): JsonMap {
  const { spec } = object
  const errors = new FieldErrors()
  const resource = objectAt(spec, 'resourceAttributes')
  const path = objectAt(spec, 'nonResourceAttributes')
  if ((resource === undefined) === (path === undefined)) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    errors.invalid('spec.resourceAttributes', null, why)
  }
  const named = { name: textAt(spec, 'user') ?? '', groups: listAt(spec, 'groups').map(String) }
  if (asker === undefined && named.name === '' && named.groups.length === 0) {
    errors.invalid('spec.user', '', 'at least one of user or group must be specified')
  }
  if (!errors.none) throw invalid({ group: 'authorization.k8s.io', plural: '', kind: '' }, '', errors.causes)
  const { allowed, reason } = decide(registry.store, asker ?? named, accessIn(resource, path))
  return { allowed, ...(reason === undefined ? {} : { reason }) }
}

function accessIn(resource: Json | undefined, path: Json | undefined): Access {
  if (resource === undefined) {
    return { type: 'path', verb: textAt(path, 'verb') ?? '', path: textAt(path, 'path') ?? '' }
  }
  const subresource = textAt(resource, 'subresource') ?? ''
  const plural = textAt(resource, 'resource') ?? ''
  return {
    type: 'resource',
    verb: textAt(resource, 'verb') ?? '',
    group: textAt(resource, 'group') ?? '',
    resource: subresource === '' ? plural : `${plural}/${subresource}`,
    namespace: textAt(resource, 'namespace') || undefined,
    name: textAt(resource, 'name') || undefined,
  }
}

const DEFAULT_TOKEN_SECONDS = 3600
const MIN_TOKEN_SECONDS = 600

/** Issues a token for a service account, for a POST to `serviceaccounts/x/token`. */
export function issueToken(
  { registry, authentication }: Omit<ReviewParts, 'user'>,
  account: ApiObject,
  request: JsonMap,
): JsonMap {
  const { name = '', namespace = '', uid = '' } = account.metadata
  const asked = objectAt(request, 'spec')?.['expirationSeconds']
  const seconds = typeof asked === 'number' ? asked : DEFAULT_TOKEN_SECONDS
  if (seconds < MIN_TOKEN_SECONDS) {
    const errors = new FieldErrors()
    errors.invalid('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes')
    throw invalid({ group: 'authentication.k8s.io', plural: 'tokenrequests', kind: 'TokenRequest' }, '', errors.causes)
  }
  const { token, expires } = authentication.issue({ name, namespace, uid }, seconds)
  return {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, creationTimestamp: timestamp(registry.clock) },
    spec: { audiences: [AUDIENCE], expirationSeconds: seconds, boundObjectRef: null },
    status: { token, expirationTimestamp: timestamp({ now: () => expires }) },
  }
}
