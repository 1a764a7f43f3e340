import type { JsonObject } from '../schema/json.ts'
import { groupVersionOf, KINDS } from '../schema/kinds.ts'
import { definitions } from './definitions.ts'
import { pathsOf } from './paths.ts'
import { openApiProtobuf } from './protobuf.ts'

const INFO = { title: 'Kubernetes', version: 'v1.36.3' }

/** The OpenAPI documents by their paths; undefined for other paths. They are made when first asked for. */
export function openApiPath(path: string): object | undefined {
  if (path === '/openapi/v3') return once(path, index)
  const root = roots().find((each) => path === `/openapi/v3/${each}`)
  return root === undefined ? undefined : once(path, () => versionThree(root))
}

export const openApiVersionTwo = (): JsonObject => once('v2', versionTwo)
export const openApiVersionTwoProtobuf = (): Buffer => once('v2 protobuf', () => openApiProtobuf(openApiVersionTwo()))

const MADE = new Map<string, object>()

function once<T extends object>(name: string, make: () => T): T {
  const made = (MADE.get(name) as T | undefined) ?? make()
  MADE.set(name, made)
  return made
}

/** `api/v1`, `apis/storage.k8s.io/v1`. */
function roots(): readonly string[] {
  return [...new Set(KINDS.map((kind) => `${kind.group === '' ? 'api' : 'apis'}/${groupVersionOf(kind)}`))]
}

function index(): object {
  return {
    paths: Object.fromEntries(roots().map((root) => [root, { serverRelativeURL: `/openapi/v3/${root}?hash=1` }])),
  }
}

function versionThree(root: string): object {
  const kinds = KINDS.filter(
    (kind) => root.endsWith(groupVersionOf(kind)) && (kind.group === '') === (root === 'api/v1'),
  )
  const parameter = (name: string, type: string): JsonObject => ({
    name,
    in: 'query',
    schema: { type, uniqueItems: true },
  })
  const paths = Object.assign({}, ...kinds.map((kind) => pathsOf(kind, parameter))) as JsonObject
  const schemas = definitions({
    refTo: (name) => ({ allOf: [{ $ref: `#/components/schemas/${name}` }] }),
    oneOf: (...types) => ({ oneOf: types.map((type) => ({ type })) }),
  })
  return { openapi: '3.0.0', info: INFO, paths, components: { schemas } }
}

function versionTwo(): JsonObject {
  const parameter = (name: string, type: string): JsonObject => ({ name, in: 'query', type, uniqueItems: true })
  const paths = Object.assign({}, ...KINDS.map((kind) => pathsOf(kind, parameter))) as JsonObject
  // Version 2 knows no choice; its readers take a number for a text.
  const types = definitions({
    refTo: (name) => ({ $ref: `#/definitions/${name}` }),
    oneOf: () => ({ type: 'string' }),
  })
  return { swagger: '2.0', info: INFO, paths, definitions: types }
}
