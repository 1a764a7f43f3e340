import type { Clock } from '@csi-sidecars/base'
import { ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import type { ObjectRef, Resource } from '@csi-sidecars/kube-types'
import { FakeApi } from '@csi-sidecars/testkit'

/** The fake API server of the resizer's tests. */
export class FakeCluster extends FakeApi<ApiError> {
  constructor(clock: Clock) {
    super({ errorOf: apiErrorOf, clock })
  }

  find<T>(resource: Resource<T>, ref: ObjectRef): T | undefined {
    return this.server.get(resource, ref)
  }

  breakWatches(): void {
    this.server.dropWatches({ how: 'cut' })
  }

  /** Returns the number of open watches of a resource. */
  watches(plural: string): number {
    return [...this.client.watches].filter(({ path }) => path.split('?')[0]?.endsWith(`/${plural}`)).length
  }
}

export function apiError(code: number, reason: string, message: string): ApiError {
  return new ApiError({ code, reason, message })
}
