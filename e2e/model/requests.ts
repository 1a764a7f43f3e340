import type { Resource } from '@csi-sidecars/kube-types'
import { ApiFailure, type Ref } from '../harness/api/api.ts'
import type { TestContext } from '../harness/context.ts'

const AT_A_TIME = 8
/** Not there, there already or changed meanwhile, and not allowed as it is now. */
const REFUSALS = [404, 409, 422]

/** Whether the server refused it, because of what the object is like by now; another failure is thrown. */
export async function refused(request: Promise<unknown>): Promise<boolean> {
  try {
    await request
    return false
  } catch (error) {
    if (error instanceof ApiFailure && REFUSALS.includes(error.code)) return true
    throw error
  }
}

/** A person removes all finalizers by hand and deletes the object; it is gone then. */
export async function stripped(t: TestContext, resource: Resource<unknown>, ref: Ref): Promise<void> {
  await refused(t.api.delete(resource, ref))
  const gone = async (): Promise<boolean> => (await t.api.find(resource, ref)) === undefined
  // A sidecar may add its finalizer once more before it sees the deletion.
  for (let tries = 0; !(await gone()); tries += 1) {
    if (tries === 20) throw new Error(`${resource.kind} ${ref.name} does not go`)
    await refused(t.api.merge(resource, ref, { metadata: { finalizers: null } }))
  }
}

/** For each number below `count`, a few at a time. */
export async function inParallel(count: number, make: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) {
      next += 1
      await make(next - 1)
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, worker))
}
