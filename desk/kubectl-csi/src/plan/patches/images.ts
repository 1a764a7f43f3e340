import type { Container } from '@csi-sidecars/kube-types'
import type { PlacedContainer, Workload } from '../workload.ts'
import { type JsonPatch, type PatchPair, pathOf, sameObjectTests, setField, unchangedTests } from './json-patch.ts'

/** A container with the fields that it gets with our image. */
export interface SwappedContainer {
  readonly place: PlacedContainer
  readonly image: string
  /** The new values of other fields. A field with the value undefined is removed. */
  readonly fields: Readonly<Partial<Pick<Container, 'args' | 'command' | 'resources'>>>
}

const FIELDS = ['command', 'args', 'resources'] as const

/** Returns the patch that swaps images, and changes other fields only where a container could not start otherwise. */
export function imagesPatch(workload: Workload, swapped: readonly SwappedContainer[]): PatchPair {
  const forward = swapped.flatMap(({ place, image, fields }) => {
    const path = pathOf(place)
    const { container } = place
    const changed = FIELDS.filter((field) => field in fields)
    return [
      { op: 'test', path: `${path}/name`, value: container.name },
      { op: 'test', path: `${path}/image`, value: container.image },
      ...(workload.version === undefined
        ? changed.flatMap((field) => present(`${path}/${field}`, container[field]))
        : []),
      { op: 'replace', path: `${path}/image`, value: image },
      ...changed.flatMap((field) => setField(`${path}/${field}`, container[field], fields[field])),
    ] satisfies JsonPatch
  })
  const back = swapped.flatMap(({ place, image, fields }) => {
    const path = pathOf(place)
    const { container } = place
    const changed = FIELDS.filter((field) => field in fields)
    return [
      { op: 'test', path: `${path}/name`, value: container.name },
      { op: 'test', path: `${path}/image`, value: image },
      { op: 'replace', path: `${path}/image`, value: container.image },
      ...changed.flatMap((field) => setField(`${path}/${field}`, fields[field], container[field])),
    ] satisfies JsonPatch
  })
  return { forward: [...unchangedTests(workload), ...forward], back: [...sameObjectTests(workload), ...back] }
}

/** Returns a test of a field that the patch replaces. A missing field cannot be tested. */
function present(path: string, value: unknown): JsonPatch {
  return value === undefined ? [] : [{ op: 'test', path, value }]
}
