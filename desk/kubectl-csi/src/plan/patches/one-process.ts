import type { Container } from '@csi-sidecars/kube-types'
import type { PlacedContainer, Workload } from '../workload.ts'
import { type JsonPatch, type PatchPair, pathOf, sameObjectTests, unchangedTests } from './json-patch.ts'

/** Containers of one list of the pod, and the container that replaces all of them. */
export interface CombinedContainer {
  /** At least one container. The new container takes the place of the first one. */
  readonly places: readonly PlacedContainer[]
  readonly container: Container
}

/** Returns the patch that replaces containers by the containers of one process for each driver. */
export function oneProcessPatch(workload: Workload, combined: readonly CombinedContainer[]): PatchPair {
  const replaced = combined.map(({ places, container }) => {
    const [first, ...rest] = places.toSorted((a, b) => a.index - b.index)
    if (first === undefined) throw new RangeError(`container ${container.name} replaces no container`)
    return { first, rest, container }
  })
  const toRemove = replaced.flatMap(({ rest }) => rest).toSorted((a, b) => b.index - a.index)
  const all = [...replaced.map(({ first }) => first), ...toRemove]
  const forward: JsonPatch = [
    ...unchangedTests(workload),
    ...all.toSorted((a, b) => a.index - b.index).flatMap((place) => testsOf(place, workload)),
    ...replaced.map(({ first, container }) => ({ op: 'replace', path: pathOf(first), value: container }) as const),
    // The highest index first: a removal moves the containers after it.
    ...toRemove.map((place) => ({ op: 'remove', path: pathOf(place) }) as const),
  ]
  const back: JsonPatch = [
    ...sameObjectTests(workload),
    ...replaced.flatMap(({ first, container }) => combinedTests(shifted(first, toRemove), container)),
    // The lowest index first, so that each container gets the index that it had.
    ...toRemove.toReversed().map((place) => ({ op: 'add', path: pathOf(place), value: place.container }) as const),
    ...replaced.map(({ first }) => ({ op: 'replace', path: pathOf(first), value: first.container }) as const),
  ]
  return { forward, back }
}

/**
 * Tests the fields that the plan depends on. The generation of a live object already proves its command line. Other
 * fields of a manifest may be missing until the API server sets their defaults.
 */
function testsOf(place: PlacedContainer, { version }: Workload): JsonPatch {
  const path = pathOf(place)
  const { name, image, ...others } = place.container
  const { command, args } = version === undefined ? others : {}
  return [
    { op: 'test', path: `${path}/name`, value: name },
    { op: 'test', path: `${path}/image`, value: image },
    ...(command === undefined ? [] : [{ op: 'test', path: `${path}/command`, value: command } as const]),
    ...(args === undefined ? [] : [{ op: 'test', path: `${path}/args`, value: args } as const]),
  ]
}

function combinedTests(place: Pick<PlacedContainer, 'list' | 'index'>, { name, image }: Container): JsonPatch {
  const path = pathOf(place)
  return [
    { op: 'test', path: `${path}/name`, value: name },
    { op: 'test', path: `${path}/image`, value: image },
  ]
}

/** Returns the place of a container after the removals. */
function shifted(
  { list, index }: PlacedContainer,
  toRemove: readonly PlacedContainer[],
): Pick<PlacedContainer, 'list' | 'index'> {
  return { list, index: index - toRemove.filter((each) => each.list === list && each.index < index).length }
}
