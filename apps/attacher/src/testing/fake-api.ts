import { apiErrorOf, type KubeClient, type RequestOptions, type SubresourceOption } from '@csi-sidecars/kube-client'
import type { ObjectRef, Patch, Resource } from '@csi-sidecars/kube-types'
import { applyPatch } from '@csi-sidecars/testkit'
import { apiError, uidMismatch } from './api-error.ts'

interface Stored {
  metadata: { name: string; uid?: string; resourceVersion?: string; finalizers?: string[] }
}

/** An API server with a few objects that applies patches and records each request. */
export class ObjectApi {
  /** The requests in their order, for example `patch pv1 {...}`. */
  readonly requests: string[] = []
  readonly objects = new Map<string, Stored>()
  /** The requests with a low priority. */
  readonly ofLowPriority: string[] = []
  /** Errors for later requests. Each error answers the next `left` requests whose text begins with `request`. */
  readonly failures: { readonly request: string; readonly error: unknown; left: number }[] = []
  #version = 1

  store(object: Stored): void {
    this.objects.set(object.metadata.name, this.#next(object))
  }

  get(name: string): Stored | undefined {
    return this.objects.get(name)
  }

  fail(request: string, error: unknown, times = 1): void {
    this.failures.push({ request, error, left: times })
  }

  get client(): Pick<KubeClient, 'get' | 'patch'> {
    return {
      get: async <T>(_: Resource<T>, { name }: ObjectRef, options?: RequestOptions) => {
        if (options?.priority === 'low') this.ofLowPriority.push(`get ${name}`)
        return this.#serve(`get ${name}`, name, (object) => object) as T
      },
      patch: async <T>(
        resource: Resource<T>,
        { name }: ObjectRef,
        patch: Patch,
        options?: RequestOptions & SubresourceOption,
      ) => {
        const subresource = options?.subresource === undefined ? '' : `/${options.subresource}`
        const request = `patch ${name}${subresource} ${JSON.stringify(patch.body)}`
        if (options?.priority === 'low') this.ofLowPriority.push(`patch ${name}${subresource}`)
        return this.#serve(request, name, (object) => patched(resource as Resource<never>, object, patch)) as T
      },
    }
  }

  #serve(request: string, name: string, serve: (object: Stored) => Stored): unknown {
    this.requests.push(request)
    const failure = this.failures.find((each) => each.left > 0 && request.startsWith(each.request))
    if (failure !== undefined) {
      failure.left -= 1
      throw failure.error
    }
    const object = this.objects.get(name)
    if (object === undefined) throw apiError(404, 'NotFound', `"${name}" not found`)
    const after = serve(object)
    if (after === object) return object
    const stored = this.#next(after)
    this.objects.set(name, stored)
    return stored
  }

  #next(object: Stored): Stored {
    this.#version += 1
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } }
  }
}

function patched(resource: Resource<Stored>, object: Stored, patch: Patch): Stored {
  if (patch.kind === 'merge') {
    const { uid } = (patch.body as Partial<Stored>).metadata ?? {}
    if (uid !== undefined && uid !== object.metadata.uid) throw uidMismatch(uid)
  }
  return applyPatch(object, patch, { resource, errorOf: apiErrorOf })
}
