"""Makes NetBox's tables in an empty database, and a user with a token of each kind.

NetBox's migrations take a quarter of an hour on two cores, since Django builds its
idea of all tables anew for each of some thousand steps. Here the tables come from the
models at once, and of the migrations run only those steps that say what no model says:
extensions, collations and triggers. The two databases differ in the names of some
constraints, indexes and sequences, and in that this one lists no migrations.
"""

import json

import django

django.setup()

from django.conf import settings
from django.contrib.postgres.operations import CreateCollation, CreateExtension
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from users.models import Token, User
from utilities.ltree import InstallLtreeTriggers
from utilities.migration import InstallDenormalizationTrigger


class NoMigrations:
    def __contains__(self, app):
        return True

    def __getitem__(self, app):
        return None


executor = MigrationExecutor(connection)
plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
state = executor.loader.project_state()


def run(*kinds):
    with connection.schema_editor() as editor:
        for migration, _ in plan:
            for step in migration.operations:
                if isinstance(step, kinds):
                    step.database_forwards(migration.app_label, editor, state, state)


run(CreateExtension, CreateCollation)
settings.MIGRATION_MODULES = NoMigrations()
call_command('migrate', run_syncdb=True, interactive=False, verbosity=0)
run(InstallLtreeTriggers, InstallDenormalizationTrigger)

user = User.objects.create_superuser('checks', 'checks@example.org')
tokens = {}
for name, version, writes in (('V2', 2, True), ('V1', 1, True), ('ReadOnly', 2, False)):
    token = Token(user=user, version=version, write_enabled=writes)
    token.save()
    tokens[name] = token.token if version == 1 else f'nbt_{token.key}.{token.token}'
print(json.dumps(tokens))
