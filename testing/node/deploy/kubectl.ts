import { inside } from '../machine/inside.ts'
import type { NodeRecord } from '../machine/record.ts'
import type { Manifest } from './manifests.ts'

/** Runs kubectl as the administrator. Returns its output. Throws if it fails. */
export function kubectl(node: NodeRecord, ...args: readonly string[]): string {
  return inside(node, ['kubectl', ...args])
}

/** Applies objects in their order. */
export function apply(node: NodeRecord, objects: readonly object[]): void {
  const list = { apiVersion: 'v1', kind: 'List', items: objects }
  const command = ['kubectl', 'apply', '--server-side', '--force-conflicts', '-f', '-']
  inside(node, command, { input: JSON.stringify(list) })
}

/** Returns the objects of a kind. `args` select them, for example by namespace. */
export function list<T = Manifest>(node: NodeRecord, kind: string, ...args: readonly string[]): readonly T[] {
  return (JSON.parse(kubectl(node, 'get', kind, ...args, '-o', 'json')) as { readonly items: readonly T[] }).items
}

/** Deletes objects and waits until they are gone. Objects that do not exist are no error. */
export function remove(node: NodeRecord, ...args: readonly string[]): void {
  kubectl(node, 'delete', '--ignore-not-found', '--wait', '--timeout=180s', ...args)
}
