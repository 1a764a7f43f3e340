import type { Clock } from '@csi-sidecars/base'
import { type ApiFailure, badRequest, notFound } from './api-failure.ts'
import type { Entry } from './collection.ts'
import { isObject, type KubeObject } from './json.ts'
import { groupVersionOf, type Kind } from './kinds.ts'
import { wrongResult } from './patching.ts'
import { conform, DecodeError } from './schema/conform.ts'
import { schemaOf } from './schema/schema.ts'
import type { Store } from './store.ts'

/** What the writing verbs work on. */
export interface Registry {
  readonly store: Store
  readonly clock: Clock
}

export interface Target {
  readonly kind: Kind
  readonly namespace: string | undefined
  readonly name: string
  readonly status: boolean
}

/** What is done about fields that the type does not have. They are dropped in any case. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

export interface WriteOptions {
  readonly dryRun: boolean
  readonly fieldValidation: FieldValidation
}

/** A stored object, or with dry run the one that would have been stored. */
export interface Written {
  readonly entry: Pick<Entry, 'object' | 'text'>
  readonly created: boolean
  readonly warnings: readonly string[]
}

export function keyOf(target: Pick<Target, 'namespace' | 'name'>): string {
  return target.namespace === undefined ? target.name : `${target.namespace}/${target.name}`
}

export function existing(registry: Registry, target: Target): Entry {
  const entry = registry.store.of(target.kind).get(keyOf(target))
  if (entry === undefined) throw notFound(target.kind, target.name)
  return entry
}

export function timestamp(clock: Pick<Clock, 'now'>): string {
  return `${new Date(clock.now()).toISOString().slice(0, 19)}Z`
}

/** Stores an object, or with dry run only makes it look as if. */
export function commit(
  registry: Registry,
  target: Target,
  object: KubeObject,
  options: Pick<WriteOptions, 'dryRun'>,
): Pick<Entry, 'object' | 'text'> {
  return options.dryRun ? unstored(object) : registry.store.put(target.kind, keyOf(target), object)
}

export function unstored(object: KubeObject): Pick<Entry, 'object' | 'text'> {
  const { apiVersion: _version, kind: _kind, ...rest } = object
  return { object, text: JSON.stringify(rest) }
}

/** An object as the server keeps it, and what its writer is told about fields that it does not have. */
export function decoded(
  kind: Kind,
  given: KubeObject,
  { fieldValidation, patched = false }: { fieldValidation: FieldValidation; patched?: boolean },
): { object: KubeObject; warnings: readonly string[] } {
  const { apiVersion: _version, kind: _kind, ...fields } = given
  const refused = (why: string): ApiFailure => (patched ? wrongResult(given, why) : unreadable(kind, why))
  try {
    const { value, unknown } = conform(schemaOf(kind), fields)
    const warnings = unknown.map((path) => `unknown field ${JSON.stringify(path)}`)
    if (warnings.length > 0 && fieldValidation === 'Strict') {
      throw refused(`strict decoding error: ${warnings.join(', ')}`)
    }
    return { object: typed(kind, value), warnings: fieldValidation === 'Warn' ? warnings : [] }
  } catch (error) {
    if (error instanceof DecodeError) throw refused(error.message)
    throw error
  }
}

/** The object with the empty structures that its type has; for objects that were made here. */
export function completed(kind: Kind, object: KubeObject): KubeObject {
  const { apiVersion: _version, kind: _kind, ...fields } = object
  return typed(kind, conform(schemaOf(kind), fields).value)
}

function typed(kind: Kind, value: { readonly metadata?: unknown }): KubeObject {
  const metadata = isObject(value.metadata) ? value.metadata : {}
  return { apiVersion: groupVersionOf(kind), kind: kind.kind, ...value, metadata }
}

function unreadable(kind: Kind, why: string): ApiFailure {
  return badRequest(
    `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${why}`,
  )
}
