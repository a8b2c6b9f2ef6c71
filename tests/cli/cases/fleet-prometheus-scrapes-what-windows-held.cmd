# A Prometheus server scrapes the agent: at each number of windows it has the samples that the windows up to then held, and the
# CPU time of services.
. "$CLI/../fleet/server.sh"
metrics=$(free_port)
port=$(free_port)
"$COATI" agent -q --window 1s -d 5s --metrics "localhost:$metrics" -F 99 --budget 50% --print >windows &
agent=$!
cat >prometheus.yml <<END
global: { scrape_interval: 250ms, scrape_timeout: 250ms }
scrape_configs: [ { job_name: coati, static_configs: [ { targets: [ "localhost:$metrics" ] } ] } ]
END
prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address="127.0.0.1:$port" >log 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; wait $server' EXIT
# asks EXPRESSION: the answer of Prometheus
asks() { curl -s --get "http://127.0.0.1:$port/api/v1/query" --data-urlencode "query=$1"; }
wait $agent || echo "agent: $?"
for name in coati_agent_windows_total coati_agent_samples_total coati_service_cpu_seconds_total; do
	asks "$name[5m]" >$name
done
python3 - <<'END'
import json
def series(name):
    result = json.load(open(name))["data"]["result"]
    return [{float(t): float(v) for t, v in row["values"]} for row in result]
windows = [json.loads(line) for line in open("windows")]
held = [0]
for w in windows:
    held.append(held[-1] + w["quality"]["samples"])
(count,), (samples,) = series("coati_agent_windows_total"), series("coati_agent_samples_total")
seen = {int(count[t]) for t in count}
wrong = [(t, count[t], samples[t]) for t in count if samples.get(t) != held[int(count[t])]]
print("samples of", len(seen - {0}) >= 3 and "three windows and more" or f"windows {seen}", "are those of the windows" if not wrong else wrong)
last = int(max(count.values()))
weight = sum(s["weight"] for w in windows[:last] for s in w["services"]) / 1e9
has = sum(list(row.values())[-1] for row in series("coati_service_cpu_seconds_total"))
print("CPU time:", "of the windows" if abs(has - weight) < 1e-6 * last else f"{has} s, and windows with {weight} s")
END
