import http from 'node:http'
import https from 'node:https'
import { messageOf } from '@csi-sidecars/base'
import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import { OTLPExporterError } from '@opentelemetry/otlp-exporter-base'
import { createOtlpHttpExportDelegate } from '@opentelemetry/otlp-exporter-base/node-http'
import {
  type IExportTracePartialSuccess,
  type IExportTraceServiceResponse,
  type ISerializer,
  JsonTraceSerializer,
  ProtobufTraceSerializer,
  TraceExporterMetricsHelper,
} from '@opentelemetry/otlp-transformer'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { Encoding, ExportSettings } from './settings.ts'

/** The result of the export of one batch, after its retries. */
export type Delivery =
  /** The collector has accepted the request. It has rejected some of the spans if `rejected` is not 0. */
  | { readonly kind: 'delivered'; readonly rejected: number; readonly why: string }
  | { readonly kind: 'refused' | 'unreachable'; readonly why: string }

/** Sends spans to one collector, and retries as OTLP demands. */
export interface OtlpExporter {
  send(spans: ReadableSpan[]): Promise<Delivery>
  close(): void
}

const ENCODINGS: Readonly<Record<Encoding, { readonly type: string; readonly serializer: TraceSerializer }>> = {
  protobuf: { type: 'application/x-protobuf', serializer: ProtobufTraceSerializer },
  json: { type: 'application/json', serializer: JsonTraceSerializer },
}

type TraceSerializer = ISerializer<ReadableSpan[], IExportTraceServiceResponse>

/**
 * Opens the exporter of OpenTelemetry with explicit settings. It reads no variable of the environment itself, because
 * it would log the value of a wrong header.
 */
export function openExporter({ url, encoding, gzip, headers, timeoutMs, tls }: ExportSettings): OtlpExporter {
  const { type, serializer } = ENCODINGS[encoding]
  const options = { keepAlive: true, maxSockets: 1 }
  const agent = url.protocol === 'https:' ? new https.Agent({ ...options, ...tls }) : new http.Agent(options)
  let partial: IExportTracePartialSuccess | undefined
  const observed: TraceSerializer = {
    serializeRequest: (spans) => serializer.serializeRequest(spans),
    deserializeResponse: (data) => {
      const response = serializer.deserializeResponse(data)
      partial = response.partialSuccess
      return response
    },
  }
  const delegate = createOtlpHttpExportDelegate(
    {
      url: url.href,
      headers: async () => ({ ...headers, 'Content-Type': type }),
      compression: gzip ? 'gzip' : 'none',
      timeoutMillis: timeoutMs,
      concurrencyLimit: Number.POSITIVE_INFINITY,
      agentFactory: () => agent,
    },
    observed,
    'otlp_http_span_exporter',
    TraceExporterMetricsHelper,
    undefined,
  )
  return {
    send: (spans) =>
      new Promise((resolve) => {
        // The delegate reads the response right before it calls back, so `partial` belongs to these spans.
        delegate.export(spans, (result) => {
          resolve(deliveryOf(result, partial, spans.length))
          partial = undefined
        })
      }),
    close: () => agent.destroy(),
  }
}

function deliveryOf(
  { code, error }: ExportResult,
  partial: IExportTracePartialSuccess | undefined,
  sent: number,
): Delivery {
  if (code === ExportResultCode.FAILED) {
    const isRefused = error instanceof OTLPExporterError && error.code !== undefined
    return isRefused ? { kind: 'refused', why: `HTTP ${error.code}` } : { kind: 'unreachable', why: messageOf(error) }
  }
  const rejected = Number(partial?.rejectedSpans ?? 0)
  const isCount = Number.isSafeInteger(rejected) && rejected > 0
  return { kind: 'delivered', rejected: isCount ? Math.min(rejected, sent) : 0, why: partial?.errorMessage ?? '' }
}
