"""Word tables for names of people: closed sets, lower case."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TITLES = _words(
    "mr mrs ms miss mister dr prof professor doctor sir madam lord lady dame herr frau mme monsieur señor señora uncle aunt auntie st "
    "princess prince king queen president judge captain sergeant"
)
"""What stands before a name and tells that it is one."""
PARTICLES = _words("van von der den de da di del della du ten ter la le los las bin ibn al el dos das do af av zu zum zur y e san")
"""Small words within a name."""
NEVER = _words(
    "royal january february march april may june july august september october november december monday tuesday wednesday thursday friday "
    "saturday sunday feb apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun spring summer autumn winter "
    "christmas easter the a an this that these those my your his her its our their we you he she it they who what when where why how "
    "which and or but if so as at in on of to for from by with not no yes ok okay please hello hi hey dear thanks thank regards sincerely "
    "cheers best god jesus lord bible is are was were be been do does did have has had can could will would should might must let there "
    "here then than also just only very north south east west northern southern eastern western new old street st road rd avenue ave lane "
    "drive square court place city country state university college school institute church hotel company inc ltd llc corp gmbh group "
    "bank club orchestra council committee department ministry team project user users admin bot client customer manager director "
    "president ceo cto phone email mobile fax desk office name address date website title visa mastercard amex iban ssn zip code card "
    "account pr api app ui url sql json yaml html css http https cpu gpu os ai ml llm english german french spanish italian portuguese "
    "dutch russian polish chinese japanese american british european asian african ask tell ping via add cc update see use using promised "
    "confirmed running run deploy deploying author server mac lon"
)
"""No part of a name, though written with a capital: months, days, nationalities, functions, what begins a sentence."""
PRODUCTS = _words(
    "grafana kibana docker celery alembic sqlalchemy pydantic presidio spacy claude gpt chatgpt copilot gemini llama mistral anthropic "
    "openai codex ollama langchain huggingface keras jupyter anaconda jenkins travis ansible vagrant packer consul vault istio envoy argo "
    "tekton maven gradle hibernate tomcat jetty hadoop hive presto trino flink beam dagster prefect superset tableau looker metabase "
    "hasura prisma drizzle sequelize mongoose knex kotlin groovy lua erlang julia ruby crystal dart rust swift scala pascal fortran cobol "
    "ada perl haskell elm vue ember svelte alpine storybook chromatic percy cypress selenium puppeteer appium detox fastlane expo ionic "
    "cordova capacitor xamarin flutter unity unreal godot blender figma sketch miro canva notion airtable zapier retool stripe braintree "
    "paypal adyen plaid twilio sendgrid mailgun postmark segment amplitude mixpanel posthog sentry rollbar bugsnag datadog dynatrace "
    "splunk sumo logstash fluentd fluentbit jaeger zipkin tempo loki mimir thanos cortex victoria telegraf influx influxdb timescale "
    "clickhouse druid pinot snowflake redshift bigquery databricks athena glue kinesis lambda fargate cloudfront route beanstalk "
    "lightsail heroku netlify vercel render fly firebase supabase appwrite parse realm okta keycloak cognito auth0 clerk ory kratos hydra "
    "jest mocha jasmine karma sinon chai enzyme ava tape bun deno node npm yarn turbo lerna nx babel webpack eslint prettier sonar "
    "sonarqube snyk dependabot renovate trivy falco tailwind bootstrap bulma chakra mantine antd mui radix rails sinatra hanami django "
    "flask fastapi tornado sanic starlette litestar dramatiq gunicorn uvicorn nginx apache caddy traefik haproxy varnish squid memcached "
    "redis valkey kafka rabbitmq pulsar nats zookeeper etcd nomad rancher harbor helm kustomize kubernetes podman buildah windows linux "
    "ubuntu debian fedora arch gentoo mint kali android ios macos safari firefox chrome opera brave edge slack discord zoom teams jira "
    "confluence trello asana monday linear clickup basecamp github gitlab bitbucket gitea gerrit phabricator google amazon microsoft "
    "apple facebook meta netflix uber airbnb spotify twitter linkedin reddit youtube wikipedia oracle ibm intel nvidia amd samsung sony "
    "adobe cisco dell lenovo hetzner linode digitalocean cloudflare akamai fastly ovh scaleway azure aws gcp postgres postgresql mysql "
    "mariadb sqlite mongo mongodb cassandra couchbase neo4j elasticsearch opensearch solr lucene qdrant pinecone weaviate milvus chroma "
    "faiss pytorch tensorflow jax pandas numpy scipy polars dask ray spark airflow dbt luigi mlflow wandb optuna gradio streamlit dash "
    "plotly bokeh seaborn matplotlib pytest hypothesis tox nox poetry pip uv conda hatch flit ruff black mypy pyright pylint bandit vim "
    "emacs neovim vscode intellij pycharm webstorm xcode eclipse sublime atom zed cursor windsurf warp tmux bash zsh fish powershell "
    "terraform pulumi chef puppet salt saltstack"
)
"""Of software and its makers, beside those that the extractor knows the use of."""
NO_LAST = _words(
    "union pass point prairie forge forges flat flats hill hills loop park plaza ridge valley river lake island isle bridge crossing "
    "station heights garden gardens meadow meadows mill mills port ports shore shores spring springs stream summit terrace trail turnpike "
    "village ville vista walk way corporation incorporated corp investments investment group partners holdings systems solutions "
    "technologies technology associates capital bank insurance foundation institute university college museum press times weekly news "
    "tales story show awards festival"
)
"""What ends the name of a place, a firm or a work, but of no person."""
