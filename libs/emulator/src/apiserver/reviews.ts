import { badRequest, invalid } from './api-failure.ts'
import type { Authentication, User } from './authentication.ts'
import { type Access, decide } from './authorization.ts'
import { type Json, type JsonObject, type KubeObject, listAt, objectAt, textAt } from './json.ts'
import type { Kind } from './kinds.ts'
import { TOKEN_REVIEW } from './kinds.ts'
import { Problems } from './problems.ts'
import { decoded, type Registry, timestamp, unstored, type Written } from './registry.ts'

/** Answers a POST of a kind that is asked and not kept. */
export function review(registry: Registry, authentication: Authentication, kind: Kind, input: KubeObject): Written {
  const { object, warnings } = decoded(kind, input, { fieldValidation: 'Warn' })
  const status = kind === TOKEN_REVIEW ? tokenStatus(authentication, object) : accessStatus(registry, kind, object)
  return { entry: unstored({ ...object, status }), created: true, warnings }
}

function tokenStatus(authentication: Authentication, object: KubeObject): JsonObject {
  const token = textAt(object, 'spec', 'token') ?? ''
  if (token === '') throw badRequest('token is required for TokenReview in authentication')
  const user = authentication.userOfToken(token)
  if (user === undefined) return { user: {}, error: 'invalid bearer token' }
  const { name, uid, groups } = user
  const known = { username: name, ...(uid === undefined ? {} : { uid }), groups }
  return { authenticated: true, user: known, audiences: [AUDIENCE] }
}

const AUDIENCE = 'https://kubernetes.default.svc'

function accessStatus(registry: Registry, kind: Kind, object: KubeObject): JsonObject {
  const { spec } = object
  const problems = new Problems()
  const resource = objectAt(spec, 'resourceAttributes')
  const path = objectAt(spec, 'nonResourceAttributes')
  if ((resource === undefined) === (path === undefined)) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    problems.invalid('spec.resourceAttributes', null, why)
  }
  const name = textAt(spec, 'user') ?? ''
  const groups = listAt(spec, 'groups').map(String)
  if (name === '' && groups.length === 0) {
    problems.invalid('spec.user', '', 'at least one of user or group must be specified')
  }
  if (!problems.none) throw invalid({ group: kind.group, plural: '', kind: '' }, '', problems.causes)
  const user: User = { name, groups }
  const { allowed, reason } = decide(registry.store, user, accessIn(resource, path))
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
const SHORTEST_TOKEN_SECONDS = 600

/** POST to `serviceaccounts/x/token`: a token for the account. */
export function issueToken(
  registry: Registry,
  authentication: Authentication,
  account: KubeObject,
  request: JsonObject,
): JsonObject {
  const { name = '', namespace = '', uid = '' } = account.metadata
  const asked = objectAt(request, 'spec')?.['expirationSeconds']
  const seconds = typeof asked === 'number' ? asked : DEFAULT_TOKEN_SECONDS
  if (seconds < SHORTEST_TOKEN_SECONDS) {
    const problems = new Problems()
    problems.invalid('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes')
    throw invalid(
      { group: 'authentication.k8s.io', plural: 'tokenrequests', kind: 'TokenRequest' },
      '',
      problems.causes,
    )
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
